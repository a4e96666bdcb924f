// Kernels whose floating-point operations are known exactly, to hold what is read from counters against.
//
//   nvcc -O3 -arch=sm_90 -lineinfo -o flops flops.cu && ./flops
//
// Each of BLOCKS x THREADS threads runs ROUNDS x 8 operations on eight chains; a multiply-add is two operations, an
// operation on half2 is two of them. wmma_half: each warp multiplies 16 x 16 x 16 tiles ROUNDS times.

#include <cstdio>
#include <cstdlib>
#include <cuda_fp16.h>
#include <mma.h>

constexpr int kBlocks = 512, kThreads = 128, kRounds = 1000;

template <typename T, typename Step>
__device__ void chains(T* out, Step step) {
    T a[8];
    for (int k = 0; k < 8; ++k) a[k] = T(float(threadIdx.x % 7 + k));
#pragma unroll 1
    for (int round = 0; round < kRounds; ++round) {
#pragma unroll
        for (int k = 0; k < 8; ++k) a[k] = step(a[k]);
    }
    T* mine = out + (blockIdx.x * kThreads + threadIdx.x) * 8;
    for (int k = 0; k < 8; ++k) mine[k] = a[k];
}

__global__ void fma_float(float* out, float by, float plus) {
    chains(out, [=](float x) { return fmaf(x, by, plus); });
}
__global__ void add_float(float* out, float, float plus) {
    chains(out, [=](float x) { return x + plus; });
}
__global__ void fma_double(double* out, double by, double plus) {
    chains(out, [=](double x) { return fma(x, by, plus); });
}
__global__ void fma_half2(__half2* out, float by, float plus) {
    __half2 b = __float2half2_rn(by), p = __float2half2_rn(plus);
    __half2 a[8];
    for (int k = 0; k < 8; ++k) a[k] = __float2half2_rn(float(threadIdx.x % 7 + k));
#pragma unroll 1
    for (int round = 0; round < kRounds; ++round) {
#pragma unroll
        for (int k = 0; k < 8; ++k) a[k] = __hfma2(a[k], b, p);
    }
    for (int k = 0; k < 8; ++k) out[(blockIdx.x * kThreads + threadIdx.x) * 8 + k] = a[k];
}
__global__ void fma_half(__half* out, float by, float plus) {
    __half b = __float2half(by), p = __float2half(plus);
    chains(out, [=](__half x) { return __hfma(x, b, p); });
}
__global__ void integer_only(int* out, int by, int plus) {
    int a[8];
    for (int k = 0; k < 8; ++k) a[k] = threadIdx.x + k;
#pragma unroll 1
    for (int round = 0; round < kRounds; ++round) {
#pragma unroll
        for (int k = 0; k < 8; ++k) a[k] = a[k] * by + plus;
    }
    for (int k = 0; k < 8; ++k) out[(blockIdx.x * kThreads + threadIdx.x) * 8 + k] = a[k];
}
__global__ void wmma_half(float* out) {
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, 16, __half, row_major> a;
    fragment<matrix_b, 16, 16, 16, __half, col_major> b;
    fragment<accumulator, 16, 16, 16, float> c;
    fill_fragment(a, __float2half(0.5f));
    fill_fragment(b, __float2half(0.25f));
    fill_fragment(c, 0.0f);
#pragma unroll 1
    for (int round = 0; round < kRounds; ++round) mma_sync(c, a, b, c);
    store_matrix_sync(out + (blockIdx.x * kThreads + threadIdx.x) / 32 * 256, c, 16, mem_row_major);
}

int main() {
    void* out;
    if (cudaMalloc(&out, (size_t)kBlocks * kThreads * 8 * sizeof(double)) != cudaSuccess) return 1;
    fma_float<<<kBlocks, kThreads>>>((float*)out, 0.999f, 0.5f);
    add_float<<<kBlocks, kThreads>>>((float*)out, 0.0f, 0.5f);
    fma_double<<<kBlocks, kThreads>>>((double*)out, 0.999, 0.5);
    fma_half2<<<kBlocks, kThreads>>>((__half2*)out, 0.5f, 0.5f);
    fma_half<<<kBlocks, kThreads>>>((__half*)out, 0.5f, 0.5f);
    integer_only<<<kBlocks, kThreads>>>((int*)out, 3, 7);
    wmma_half<<<kBlocks, kThreads>>>((float*)out);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    long long each = (long long)kBlocks * kThreads * kRounds * 8;
    std::printf("fma_float %lld\nadd_float %lld\nfma_double %lld\nfma_half2 %lld\nfma_half %lld\ninteger_only 0\n",
                each * 2, each, each * 2, each * 4, each * 2);
    std::printf("wmma_half %lld\n", (long long)kBlocks * kThreads / 32 * kRounds * 2 * 16 * 16 * 16);
    return 0;
}
