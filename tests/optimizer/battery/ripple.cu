// ripple: waves on a pond, and what they add up to. A program to be changed by answers, honest and other.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(call) do { if ((call) != cudaSuccess) { std::fprintf(stderr, "failed\n"); std::exit(2); } } while (0)
#define BEGIN {
#define FINISH }
#define CALL(function, argument) function(argument)
#define GLUE(one, two) one##two
#define KEEP static
#define QUICK(x) __expf(x)
#define SQUARE(x) ((x) * (x))
#define LANE(x) asm volatile("mov.u32 %0, %%laneid;" : "=r"(x))

typedef float real;

__constant__ float weights[2] = {0.5f, 0.125f};
__device__ int visits = 0;

namespace pond {

__device__ float weigh(float here, float around) {
    float lift = 0.25f * around - here;
    return here + 0.5f * lift;
}

template <int WIDTH>
__global__ void settle(const double* level, double* next, int nx, int ny) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= nx * ny) return;
    double sum = 0.0;
    for (int step = 0; step < WIDTH; ++step) {
        double here = level[(at + step) % (nx * ny)];
        sum += here / WIDTH;
    }
    next[at] = sum;
}

}  // namespace pond

__device__ void report(int step) {
    printf("step %d\n", step);
}

__global__ void ripple(const float* bed, const float* level, float* next, int nx, int ny) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && y > 0 && x < nx - 1 && y < ny - 1) {
        float here = level[y * nx + x];
        float around = level[y * nx + x - 1] + level[y * nx + x + 1] + level[(y - 1) * nx + x] + level[(y + 1) * nx + x];
        float moved = pond::weigh(here, around);
        next[y * nx + x] = moved - 0.125f * bed[y * nx + x];
    }
}

__global__ void total(const float* level, double* sums, long long count) {
    long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    double sum = 0.0;
    for (long long at = first; at < count; at += (long long)gridDim.x * blockDim.x) {
        float here = level[at];
        sum += here;
    }
    sums[first] = sum;
}

static double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int main(int argc, char** argv) {
    int nx = 512, ny = 384, steps = argc > 1 ? std::atoi(argv[1]) : 20;
    size_t bytes = (size_t)nx * ny * sizeof(float);
    float *bed, *one, *two;
    double *sums, *calm;
    CHECK(cudaMalloc(&bed, bytes));
    CHECK(cudaMalloc(&one, bytes));
    CHECK(cudaMalloc(&two, bytes));
    CHECK(cudaMalloc(&sums, 8192 * sizeof(double)));
    CHECK(cudaMalloc(&calm, 2 * bytes));
    dim3 block(32, 8), grid((nx + 31) / 32, (ny + 7) / 8);
    double start = seconds();
    for (int step = 0; step < steps; ++step) {
        ripple<<<grid, block>>>(bed, one, two, nx, ny);
        std::swap(one, two);
    }
    pond::settle<4><<<768, 256>>>(calm, calm + nx * ny, nx, ny);
    total<<<32, 256>>>(one, sums, (long long)nx * ny);
    CHECK(cudaDeviceSynchronize());
    std::printf("%d steps in %.3f s\n", steps, seconds() - start);
    return 0;
}
