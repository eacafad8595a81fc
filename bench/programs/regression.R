# Fits regressions in R: cross products, Cholesky factorisations, solves and a singular value
# decomposition.
# usage: Rscript regression.R [PARAMETERS]

arguments <- commandArgs(trailingOnly = TRUE)
n <- if (length(arguments) > 0) as.integer(arguments[1]) else 700L
set.seed(29)
total <- 0
for (step in 1:6) {
  x <- matrix(runif(3 * n * n) - 0.5, 3 * n, n)
  y <- x %*% matrix(runif(n * 10), n, 10)
  gram <- crossprod(x) + diag(step, n)
  noise <- matrix(runif(n * n) - 0.5, n)
  total <- total + sum(log(diag(chol(noise + t(noise) + diag(n, n)))))
  total <- total + norm(solve(gram, crossprod(x, y), tol = 0), "F")
}
values <- svd(x[1:n, 1:(n %/% 2)], nu = 0, nv = 0)$d
cat("result", format(c(total, sum(values)), digits = 17), "\n")
