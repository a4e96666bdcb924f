// Eight kernels, each slow for one reason that was put there on purpose. What a profile of them says can be held
// against the reason in the name.
//
//   nvcc -O3 -arch=sm_90 -lineinfo -o planted planted.cu && ./planted

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        cudaError_t status = (call);                                                             \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

constexpr int kSide = 8192;
constexpr int kCells = kSide * kSide;
constexpr int kThreads = 256;

// Neighbouring threads read addresses that lie a whole row apart: 32 sectors a request instead of 4.
__global__ void uncoalesced(const float* in, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int row = i % kSide, col = i / kSide;
    out[i] = in[(size_t)row * kSide + col] * 2.0f;
}

// All 32 threads of a warp read different words of one bank.
__global__ void bank_conflicts(const float* in, float* out) {
    __shared__ float tile[32 * 32];
    int lane = threadIdx.x % 32;
    for (int k = threadIdx.x; k < 32 * 32; k += blockDim.x) tile[k] = in[(blockIdx.x * 1024 + k) % kCells];
    __syncthreads();
    float sum = 0.0f;
    for (int round = 0; round < 256; ++round) {
        sum += tile[lane * 32 + (round + threadIdx.x / 32) % 32];
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Almost all of the shared memory for one block of one warp: nothing is left to hide a wait with.
__global__ void low_occupancy(const float* in, float* out) {
    extern __shared__ float most[];
    int first = blockIdx.x * 4096;
    float sum = 0.0f;
    for (int k = threadIdx.x; k < 4096; k += 32) sum += in[(first + k) % kCells];
    most[threadIdx.x] = sum;
    __syncwarp();
    out[blockIdx.x * 32 + threadIdx.x] = most[31 - threadIdx.x];
}

// Every thread of a warp takes another way, one after the other.
__global__ void divergence(const float* in, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    int turns = 8 * (threadIdx.x % 32);
    for (int k = 0; k < turns; ++k) {
        x = (k & 1) ? sqrtf(x + 1.5f) : __fdividef(x, 1.25f);
    }
    out[i] = x;
}

// All threads of the device add to one word.
__global__ void contended_atomics(const float* in, int* counts) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int bin = in[i] > 0.5f ? 0 : 1;
    atomicExch(&counts[bin], i);
}

// Each load needs the answer of the one before.
__global__ void latency_chain(const int* next, int* out, int steps) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < steps; ++k) at = next[at];
    out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}

// Eight chains of multiply-adds in registers: the fp32 pipes are the limit.
__global__ void compute_bound(float* out, float by, float plus) {
    float a[8];
    for (int k = 0; k < 8; ++k) a[k] = threadIdx.x + k;
    for (int round = 0; round < 2048; ++round) {
#pragma unroll
        for (int k = 0; k < 8; ++k) a[k] = fmaf(a[k], by, plus);
    }
    float sum = 0.0f;
    for (int k = 0; k < 8; ++k) sum += a[k];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// A plain copy with wide loads: nothing but DRAM is the limit.
__global__ void dram_roof(const float4* in, float4* out) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    out[i] = in[i];
}

__global__ void fill(float* cells, int* next) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    cells[i] = (i * 2654435761u >> 8) * (1.0f / 16777216.0f);
    next[i] = (int)((i * 1664525u + 1013904223u) % kCells);
}

int main() {
    float *in, *out;
    int *next, *counts;
    CHECK(cudaMalloc(&in, kCells * sizeof(float)));
    CHECK(cudaMalloc(&out, kCells * sizeof(float)));
    CHECK(cudaMalloc(&next, kCells * sizeof(int)));
    CHECK(cudaMalloc(&counts, 2 * sizeof(int)));
    CHECK(cudaFuncSetAttribute(low_occupancy, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 * 1024));
    int blocks = kCells / kThreads;
    fill<<<blocks, kThreads>>>(in, next);
    for (int round = 0; round < 2; ++round) {
        uncoalesced<<<blocks, kThreads>>>(in, out);
        bank_conflicts<<<8192, kThreads>>>(in, out);
        low_occupancy<<<4096, 32, 200 * 1024>>>(in, out);
        divergence<<<blocks / 8, kThreads>>>(in, out);
        contended_atomics<<<blocks / 64, kThreads>>>(in, counts);
        latency_chain<<<528, 64>>>(next, (int*)out, 512);
        compute_bound<<<4096, kThreads>>>(out, 1.0001f, 0.5f);
        dram_roof<<<blocks / 4, kThreads>>>((const float4*)in, (float4*)out);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaDeviceSynchronize());
    return 0;
}
