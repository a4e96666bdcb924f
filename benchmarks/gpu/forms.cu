// The shapes in which kernels come: templates, lambdas, unnamed namespaces, operators, code from a header, NVTX ranges,
// a CUDA graph, a replayed range, and a thousand launches.
//
//   nvcc -O3 -arch=sm_90 -std=c++17 --extended-lambda -lineinfo -o forms forms.cu
//   ./forms names | nvtx | graph | range | many

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_profiler_api.h>
#include <nvtx3/nvToolsExt.h>

#include "forms.h"

constexpr int kCount = 1 << 20;
constexpr int kThreads = 256;
constexpr int kBlocks = kCount / kThreads;

namespace {
__global__ void hidden(float* cells) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float c[4] = {1.0f, 0.5f, 0.25f, 0.125f};
    cells[i] = polynomial(folded(cells[i]), c);
}
}  // namespace

namespace ponds {
struct Level {
    float value;
    __device__ Level operator+(Level other) const { return {value + folded(other.value)}; }
};

template <typename T, int Unroll>
__global__ void templated(T* cells, int count) {
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * Unroll;
#pragma unroll
    for (int k = 0; k < Unroll; ++k) {
        if (first + k < count) cells[first + k] = cells[first + k] + T{1.0f};
    }
}

template <typename Function>
__global__ void apply(float* cells, Function function) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    cells[i] = function(cells[i]);
}
}  // namespace ponds

__global__ void step(float* cells, float by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    cells[i] = cells[i] * by + 1.0f;
}

__global__ void halve(float* cells) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    cells[i] = cells[i] * 0.5f;
}

static void names(float* cells) {
    hidden<<<kBlocks, kThreads>>>(cells);
    ponds::templated<ponds::Level, 4><<<kBlocks / 4, kThreads>>>((ponds::Level*)cells, kCount);
    ponds::templated<ponds::Level, 1><<<kBlocks, kThreads>>>((ponds::Level*)cells, kCount);
    float by = 1.5f;
    ponds::apply<<<kBlocks, kThreads>>>(cells, [by] __device__(float x) { return x * by; });
    ponds::apply<<<kBlocks, kThreads>>>(cells, [by] __device__(float x) { return x - by; });
}

static void ranges(float* cells) {
    nvtxRangePushA("outer");
    step<<<kBlocks, kThreads>>>(cells, 0.5f);
    nvtxRangePushA("inner, with a comma");
    halve<<<kBlocks, kThreads>>>(cells);
    nvtxRangePop();
    nvtxRangePop();
}

static void graph(float* cells) {
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    for (int k = 0; k < 3; ++k) step<<<kBlocks, kThreads, 0, stream>>>(cells, 0.25f);
    halve<<<kBlocks, kThreads, 0, stream>>>(cells);
    cudaGraph_t captured;
    cudaStreamEndCapture(stream, &captured);
    cudaGraphExec_t ready;
    cudaGraphInstantiate(&ready, captured, 0);
    for (int k = 0; k < 2; ++k) cudaGraphLaunch(ready, stream);
    cudaStreamSynchronize(stream);
}

static void range(float* cells) {
    cudaDeviceSynchronize();
    cudaProfilerStart();
    step<<<kBlocks, kThreads>>>(cells, 0.5f);
    halve<<<kBlocks, kThreads>>>(cells);
    cudaDeviceSynchronize();
    cudaProfilerStop();
}

static void many(float* cells) {
    for (int k = 0; k < 400; ++k) {
        step<<<kBlocks, kThreads>>>(cells, 0.5f);
        halve<<<kBlocks / 2, kThreads>>>(cells);
        hidden<<<kBlocks, kThreads>>>(cells);
    }
}

int main(int argc, char** argv) {
    const char* what = argc > 1 ? argv[1] : "names";
    float* cells;
    if (cudaMalloc(&cells, kCount * sizeof(float)) != cudaSuccess) return 1;
    cudaMemset(cells, 0, kCount * sizeof(float));
    if (!std::strcmp(what, "names")) names(cells);
    else if (!std::strcmp(what, "nvtx")) ranges(cells);
    else if (!std::strcmp(what, "graph")) graph(cells);
    else if (!std::strcmp(what, "range")) range(cells);
    else if (!std::strcmp(what, "many")) many(cells);
    else return 2;
    cudaError_t status = cudaDeviceSynchronize();
    std::printf("%s: %s\n", what, cudaGetErrorString(status));
    return status == cudaSuccess ? 0 : 1;
}
