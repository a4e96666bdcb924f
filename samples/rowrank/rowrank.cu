// rowrank: for every row of a score matrix, how many entries beat the labelled one?
//
// The rank of the labelled entry is what top-k accuracy is made of. The program fills a
// ROWS x COLS matrix of floats on the device, ranks every row REPEATS times and writes the
// ranks to out/ranks.bin (int32, one a row).
//
//   ./rowrank ROWS COLS REPEATS [SEED]

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <sys/stat.h>

#define CHECK(call)                                                                     \
    do {                                                                                \
        cudaError_t status = (call);                                                    \
        if (status != cudaSuccess) {                                                    \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,                     \
                         cudaGetErrorString(status));                                   \
            std::exit(1);                                                               \
        }                                                                               \
    } while (0)

constexpr int kThreads = 256;

__device__ unsigned int mix(unsigned int x) {
    x ^= x >> 16;
    x *= 0x7feb352dU;
    x ^= x >> 15;
    x *= 0x846ca68bU;
    x ^= x >> 16;
    return x;
}

__global__ void fill_scores(float* scores, int* labels, int rows, int cols, unsigned int seed) {
    long long cell = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (cell >= (long long)rows * cols) return;
    scores[cell] = (mix((unsigned int)cell ^ seed) >> 8) * (1.0f / 16777216.0f);
    if (cell < rows) labels[cell] = mix((unsigned int)cell + 0x9e3779b9U + seed) % cols;
}

__global__ void rank_rows(const float* scores, const int* labels, int* ranks, int rows, int cols) {
    int row = blockIdx.x;
    if (row >= rows) return;

    __shared__ int above;
    if (threadIdx.x == 0) above = 0;
    __syncthreads();

    int chunk = (cols + blockDim.x - 1) / blockDim.x;
    int first = threadIdx.x * chunk;
    for (int i = 0; i < chunk; ++i) {
        int col = first + i;
        if (col < cols) {
            float score = scores[(long long)row * cols + col];
            float labelled = scores[(long long)row * cols + labels[row]];
            if (score > labelled) {
                atomicAdd(&above, 1);
            }
        }
    }
    __syncthreads();

    if (threadIdx.x == 0) ranks[row] = above;
}

__global__ void count_top(const int* ranks, int* hits, int rows, int k) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows && ranks[row] < k) atomicAdd(hits, 1);
}

static int argument(int argc, char** argv, int index, int fallback) {
    return argc > index ? std::atoi(argv[index]) : fallback;
}

int main(int argc, char** argv) {
    int rows = argument(argc, argv, 1, 8192);
    int cols = argument(argc, argv, 2, 4096);
    int repeats = argument(argc, argv, 3, 3);
    unsigned int seed = (unsigned int)argument(argc, argv, 4, 1);
    if (rows < 1 || cols < 1 || repeats < 1) {
        std::fprintf(stderr, "usage: rowrank ROWS COLS REPEATS [SEED], all at least 1\n");
        return 2;
    }

    size_t cells = (size_t)rows * cols;
    float* scores;
    int *labels, *ranks, *hits;
    CHECK(cudaMalloc(&scores, cells * sizeof(float)));
    CHECK(cudaMalloc(&labels, rows * sizeof(int)));
    CHECK(cudaMalloc(&ranks, rows * sizeof(int)));
    CHECK(cudaMalloc(&hits, sizeof(int)));
    CHECK(cudaMemset(hits, 0, sizeof(int)));

    fill_scores<<<(unsigned int)((cells + kThreads - 1) / kThreads), kThreads>>>(scores, labels, rows, cols, seed);
    CHECK(cudaGetLastError());
    for (int i = 0; i < repeats; ++i) {
        rank_rows<<<rows, kThreads>>>(scores, labels, ranks, rows, cols);
        CHECK(cudaGetLastError());
    }
    int k = cols / 10 + 1;
    count_top<<<(rows + kThreads - 1) / kThreads, kThreads>>>(ranks, hits, rows, k);
    CHECK(cudaGetLastError());

    std::vector<int> host(rows);
    int top = 0;
    CHECK(cudaMemcpy(host.data(), ranks, rows * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&top, hits, sizeof(int), cudaMemcpyDeviceToHost));

    mkdir("out", 0777);
    FILE* out = std::fopen("out/ranks.bin", "wb");
    if (!out || std::fwrite(host.data(), sizeof(int), rows, out) != (size_t)rows) {
        std::fprintf(stderr, "cannot write out/ranks.bin\n");
        return 1;
    }
    std::fclose(out);

    std::printf("rows %d, columns %d: %d labels in the top %d\n", rows, cols, top, k);
    CHECK(cudaFree(scores));
    CHECK(cudaFree(labels));
    CHECK(cudaFree(ranks));
    CHECK(cudaFree(hits));
    return 0;
}
