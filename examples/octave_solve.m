% A product, a linear solve, a Cholesky factorisation and a 2-D transform in plain Octave.
% usage: octave --no-init-file octave_solve.m [N]     matrices of N x N, by default 600

1;

function good = check (what, residual, n)
  limit = 10 * n * eps;
  good = residual <= limit;
  if (good)
    verdict = "good";
  else
    verdict = "BAD";
  end
  printf ("  %-36s residual %.1e (%s)\n", what, residual, verdict);
end

n = 600;
arguments = argv ();
if (numel (arguments) > 0)
  value = str2double (arguments{end});
  if (! isnan (value))
    n = value;
  end
end
rand ("seed", 7);
a = rand (n) - 0.5;
b = rand (n) - 0.5;
x = rand (n, 1) - 0.5;
printf ("%d x %d:\n", n, n);

c = a * b;
good = check ("product of two matrices",
               norm (c * x - a * (b * x)) / (norm (a, "fro") * norm (b, "fro")), n);

right = rand (n, 3);
solution = a \ right;
good &= check ("linear system, 3 right-hand sides",
               norm (a * solution - right) / (norm (a, "fro") * norm (solution, "fro")), n);

definite = a * a' + n * eye (n);
factor = chol (definite);
good &= check ("Cholesky factor of a definite matrix",
               norm (factor' * (factor * x) - definite * x) / norm (definite, "fro"), n);

image = complex (a, b);
spectrum = fft2 (image);
good &= check ("2-D Fourier transform and back",
               norm (ifft2 (spectrum) - image, "fro") / norm (image, "fro"), n);

path = getenv ("OUTBOARD_EXAMPLE_OUTPUT");
if (! isempty (path))
  file = fopen (path, "wb");
  fwrite (file, c, "double");
  fwrite (file, solution, "double");
  fwrite (file, factor, "double");
  fwrite (file, real (spectrum), "double");
  fwrite (file, imag (spectrum), "double");
  fclose (file);
end
if (! good)
  exit (1);
end
