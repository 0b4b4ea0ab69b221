/* Scalar programs of this package as a C programmer writes them; twins.py compiles them. */

#include <math.h>
#include <stdint.h>

void seidel_2d(int64_t steps, double* a, int64_t n, int64_t m) {
  for (int64_t t = 0; t < steps; t++)
    for (int64_t i = 1; i < n - 1; i++) {
      const double *up = a + (i - 1) * m, *down = a + (i + 1) * m;
      double* row = a + i * m;
      for (int64_t j = 1; j < m - 1; j++)
        row[j] = (up[j - 1] + up[j] + up[j + 1] + row[j - 1] + row[j] + row[j + 1] + down[j - 1] +
                  down[j] + down[j + 1]) /
                 9.0;
    }
}

void gauss_seidel_rows(int64_t steps, double* u, const double* f, double h, int64_t n, int64_t m) {
  for (int64_t t = 0; t < steps; t++)
    for (int64_t i = 1; i < n - 1; i++) {
      double left = u[i * m];
      for (int64_t j = 1; j < m - 1; j++) {
        double known =
            u[(i - 1) * m + j] + u[(i + 1) * m + j] + u[i * m + j + 1] + h * h * f[i * m + j];
        left = 0.25 * (left + known);
        u[i * m + j] = left;
      }
    }
}

/* best[3]: the score, and where it ends in each sequence. */
void smith_waterman(const int64_t* first, int64_t n, const int64_t* second, int64_t m,
                    int64_t match, int64_t mismatch, int64_t gap, int64_t* score, int64_t* best) {
  for (int64_t j = 0; j <= m; j++) score[j] = 0;
  best[0] = best[1] = best[2] = 0;
  for (int64_t i = 1; i <= n; i++) {
    const int64_t* above = score + (i - 1) * (m + 1);
    int64_t* row = score + i * (m + 1);
    row[0] = 0;
    for (int64_t j = 1; j <= m; j++) {
      int64_t value = above[j - 1] + (first[i - 1] == second[j - 1] ? match : mismatch);
      if (above[j] - gap > value) value = above[j] - gap;
      if (row[j - 1] - gap > value) value = row[j - 1] - gap;
      if (value < 0) value = 0;
      row[j] = value;
      if (value > best[0]) {
        best[0] = value;
        best[1] = i;
        best[2] = j;
      }
    }
  }
}

void nussinov(const int64_t* sequence, int64_t n, int64_t* table) {
  for (int64_t i = 0; i < n * n; i++) table[i] = 0;
  for (int64_t i = n - 1; i >= 0; i--)
    for (int64_t j = i + 1; j < n; j++) {
      int64_t best = table[i * n + j - 1];
      if (table[(i + 1) * n + j] > best) best = table[(i + 1) * n + j];
      if (i < j - 1) {
        int64_t paired = table[(i + 1) * n + j - 1] + (sequence[i] + sequence[j] == 3);
        if (paired > best) best = paired;
      }
      for (int64_t k = i + 1; k < j; k++) {
        int64_t split = table[i * n + k] + table[(k + 1) * n + j];
        if (split > best) best = split;
      }
      table[i * n + j] = best;
    }
}

int64_t crc16(const uint8_t* data, int64_t n, int64_t polynomial) {
  uint32_t crc = 0xFFFF;
  for (int64_t i = 0; i < n; i++) {
    crc ^= (uint32_t)data[i] << 8;
    for (int bit = 0; bit < 8; bit++)
      crc = (crc & 0x8000 ? (crc << 1) ^ (uint32_t)polynomial : crc << 1) & 0xFFFF;
  }
  return crc;
}

/* One row of the recursive filter at a time, forward and backward. */
void deriche(const double* image, int64_t n, int64_t m, double alpha, double* out) {
  double e = exp(-alpha);
  double k = (1.0 - e) * (1.0 - e) / (1.0 + 2.0 * alpha * e - e * e);
  double a0 = k, a1 = k * e * (alpha - 1.0), a2 = k * e * (alpha + 1.0), a3 = -k * e * e;
  double b1 = 2.0 * e, b2 = -e * e;
  for (int64_t i = 0; i < n; i++) {
    const double* x = image + i * m;
    double* y = out + i * m;
    double x1 = 0.0, y1 = 0.0, y2 = 0.0;
    for (int64_t j = 0; j < m; j++) {
      double value = a0 * x[j] + a1 * x1 + b1 * y1 + b2 * y2;
      x1 = x[j], y2 = y1, y1 = value;
      y[j] = value;
    }
    double x2 = 0.0;
    x1 = y1 = y2 = 0.0;
    for (int64_t j = m - 1; j >= 0; j--) {
      double value = a2 * x1 + a3 * x2 + b1 * y1 + b2 * y2;
      x2 = x1, x1 = x[j], y2 = y1, y1 = value;
      y[j] += value;
    }
  }
}

void recursive_smoothing(const double* signal, int64_t n, double weight, double* out) {
  double state = signal[0];
  for (int64_t i = 0; i < n; i++) {
    state += weight * (signal[i] - state);
    out[i] = state;
  }
  for (int64_t i = n - 1; i >= 0; i--) {
    state += weight * (out[i] - state);
    out[i] = state;
  }
}

void histogram_loop(const double* values, int64_t n, double low, double high, int64_t bins,
                    int64_t* counts) {
  for (int64_t k = 0; k < bins; k++) counts[k] = 0;
  double width = (high - low) / (double)bins;
  for (int64_t i = 0; i < n; i++)
    if (low <= values[i] && values[i] <= high) {
      int64_t k = (int64_t)((values[i] - low) / width);
      counts[k < bins ? k : bins - 1]++;
    }
}

void spmv_csr(const int64_t* start, const int64_t* column, const double* value, const double* x,
              int64_t rows, double* y) {
  for (int64_t i = 0; i < rows; i++) {
    double sum = 0.0;
    for (int64_t k = start[i]; k < start[i + 1]; k++) sum += value[k] * x[column[k]];
    y[i] = sum;
  }
}
