% Computes spectra in Octave, with FFTW: signals and images of growing sizes.
% usage: octave octave_spectra.m [LARGEST_EDGE_OF_AN_IMAGE]

1;

largest = 1000;
arguments = argv ();
if (numel (arguments) > 0 && ! isnan (str2double (arguments{end})))
  largest = str2double (arguments{end});
end
rand ("twister", 28);
total = 0;
for n = round (linspace (largest / 10, largest, 20))
  image = rand (n) - 0.5;
  sharp = real (ifft2 (fft2 (image) .* exp (-((0:n-1)' / n) .^ 2)));
  total += norm (sharp, "fro");
  signals = fft (rand (n * n, 1) - 0.5);
  total += sum (abs (signals(1:min (n, 64))));
end
printf ("result %.17g\n", total);
