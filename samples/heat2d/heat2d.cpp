// heat2d: heat spreading over a plate, one explicit step after another.
//
// The plate is a ROWS x COLS grid of doubles, stored row by row. Every step replaces each inner
// cell by itself plus a share of the difference to its four neighbours; the rim stays as it was.
// The final plate goes to out/plate.bin, a short summary to standard output.
//
//   ./heat2d ROWS COLS STEPS [SEED]

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include <sys/stat.h>

struct Plate {
    int rows;
    int cols;
    std::vector<double> cells;

    Plate(int rows, int cols) : rows(rows), cols(cols), cells((size_t)rows * cols, 0.0) {}
    double& at(int row, int col) { return cells[(size_t)row * cols + col]; }
    double at(int row, int col) const { return cells[(size_t)row * cols + col]; }
};

void light(Plate& plate, unsigned int seed) {
    unsigned int state = seed * 2654435761u + 12345u;
    for (double& cell : plate.cells) {
        state = state * 1664525u + 1013904223u;
        cell = (state >> 8) / 16777216.0;
    }
}

__attribute__((noinline))
void spread(const Plate& now, Plate& next, double share) {
    for (int col = 1; col < now.cols - 1; ++col) {
        for (int row = 1; row < now.rows - 1; ++row) {
            double here = now.at(row, col);
            double around = now.at(row - 1, col) + now.at(row + 1, col) + now.at(row, col - 1) + now.at(row, col + 1);
            next.at(row, col) = here + share * (around - 4.0 * here);
        }
    }
}

__attribute__((noinline))
double warmth(const Plate& plate) {
    double sum = 0.0;
    for (double cell : plate.cells) sum += cell;
    return sum;
}

bool save(const Plate& plate, const char* path) {
    FILE* out = std::fopen(path, "wb");
    if (!out) return false;
    size_t written = std::fwrite(plate.cells.data(), sizeof(double), plate.cells.size(), out);
    return std::fclose(out) == 0 && written == plate.cells.size();
}

int main(int argc, char** argv) {
    int rows = argc > 1 ? std::atoi(argv[1]) : 1200;
    int cols = argc > 2 ? std::atoi(argv[2]) : 1200;
    int steps = argc > 3 ? std::atoi(argv[3]) : 10;
    unsigned int seed = argc > 4 ? (unsigned int)std::atoi(argv[4]) : 1u;
    if (rows < 3 || cols < 3 || steps < 1) {
        std::fprintf(stderr, "usage: heat2d ROWS COLS STEPS [SEED], at least 3 3 1\n");
        return 2;
    }

    Plate now(rows, cols);
    light(now, seed);
    Plate next = now;
    double before = warmth(now);
    for (int step = 0; step < steps; ++step) {
        spread(now, next, 0.2);
        std::swap(now, next);
    }

    mkdir("out", 0777);
    if (!save(now, "out/plate.bin")) {
        std::fprintf(stderr, "cannot write out/plate.bin\n");
        return 1;
    }
    std::printf("%d x %d, %d steps: warmth %.12f, at first %.12f\n", rows, cols, steps, warmth(now), before);
    return 0;
}
