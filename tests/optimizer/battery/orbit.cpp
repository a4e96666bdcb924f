// orbit: bodies that pull each other, on a CPU. A program to be changed by answers, honest and other.
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

#define CALL(function, argument) function(argument)
#define GLUE(one, two) one##two
#define KEEP static
#define QUICK(x) __expf(x)
#define REPEATS 3

typedef float coarse;

static int rounds = 0;
double scratch[64];

struct Body {
    double x, y, mass;
    double read() const { return mass; }
};

static double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void save(const std::vector<double>& values) {
    std::FILE* file = std::fopen("out.bin", "wb");
    std::fwrite(values.data(), sizeof(double), values.size(), file);
    std::fclose(file);
}

double square(double value) {
    return value * value;
}

void pull(const std::vector<Body>& bodies, std::vector<double>& force) {
    for (std::size_t i = 0; i < bodies.size(); ++i) {
        double sum = 0.0;
        for (std::size_t j = 0; j < bodies.size(); ++j) {
            double dx = bodies[j].x - bodies[i].x;
            double dy = bodies[j].y - bodies[i].y;
            double far = square(dx) + square(dy) + 1.0;
            sum += bodies[j].read() / (far * std::sqrt(far));
        }
        force[i] = sum;
    }
}

void multiply(const double* a, const double* b, double* c, int n) {
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            double sum = 0.0;
            for (int k = 0; k < n; ++k) {
                sum += a[(std::size_t)i * n + k] * b[(std::size_t)k * n + j];
            }
            c[(std::size_t)i * n + j] = sum;
        }
    }
}

int main() {
    std::vector<Body> bodies(500);
    std::vector<double> force(bodies.size()), a(10000, 1.5), b(10000, 2.5), c(10000);
    double start = seconds();
    for (int repeat = 0; repeat < REPEATS; ++repeat) {
        pull(bodies, force);
        multiply(a.data(), b.data(), c.data(), 100);
    }
    save(c);
    std::printf("%.6f in %.3f s, round %d\n", c[0] + force[0], seconds() - start, rounds);
    return 0;
}
