% Identifies a model in Octave: products, a Cholesky factorisation, a solve and eigenvalues.
% usage: octave octave_model.m [SIZE]

1;

n = 900;
arguments = argv ();
if (numel (arguments) > 0 && ! isnan (str2double (arguments{end})))
  n = str2double (arguments{end});
end
rand ("twister", 27);
data = rand (2 * n, n) - 0.5;
total = 0;
for step = 1:6
  wanted = data * (rand (n, 20) - 0.5);
  gram = data' * data + step * eye (n);
  noise = rand (n) - 0.5;
  factor = chol (noise + noise' + n * eye (n));
  model = factor \ (factor' \ (data' * wanted));
  total += norm (model, "fro") + norm ((gram + data(1:n, :)) \ wanted(1:n, :), "fro");
end
levels = eig (gram(1:round (n / 3), 1:round (n / 3)));
printf ("result %.17g %.17g\n", total, sum (log (levels)));
