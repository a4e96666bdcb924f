// What a kernel calls from a header: inlined lines keep this file's name.
#pragma once

template <int N>
__device__ inline float polynomial(float x, const float (&c)[N]) {
    float sum = c[N - 1];
#pragma unroll
    for (int k = N - 2; k >= 0; --k) {
        sum = sum * x + c[k];
    }
    return sum;
}

__device__ inline float folded(float x) {
    return x < 0.0f ? -x : x;
}
