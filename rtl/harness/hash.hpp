// SHA-256 for the digests of samples, SHAKE256 for mu.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

using Bytes = std::vector<std::uint8_t>;

inline Bytes sha256(const Bytes& data) {
    static const std::uint32_t K[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
    std::uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                              0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    auto turn = [](std::uint32_t x, int n) { return (x >> n) | (x << (32 - n)); };
    Bytes padded = data;
    padded.push_back(0x80);
    while (padded.size() % 64 != 56) padded.push_back(0);
    for (int i = 7; i >= 0; i--) padded.push_back(std::uint8_t(std::uint64_t(data.size()) * 8 >> (8 * i)));
    for (std::size_t at = 0; at < padded.size(); at += 64) {
        std::uint32_t w[64];
        for (int i = 0; i < 16; i++) {
            const std::uint8_t* p = &padded[at + 4 * i];
            w[i] = std::uint32_t(p[0]) << 24 | std::uint32_t(p[1]) << 16 | std::uint32_t(p[2]) << 8 | p[3];
        }
        for (int i = 16; i < 64; i++) {
            std::uint32_t a = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ (w[i - 15] >> 3);
            std::uint32_t b = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ (w[i - 2] >> 10);
            w[i] = w[i - 16] + a + w[i - 7] + b;
        }
        std::uint32_t v[8];
        for (int i = 0; i < 8; i++) v[i] = state[i];
        for (int i = 0; i < 64; i++) {
            std::uint32_t one = v[7] + (turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25)) +
                                ((v[4] & v[5]) ^ (~v[4] & v[6])) + K[i] + w[i];
            std::uint32_t two = (turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22)) +
                                ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
            for (int j = 7; j > 0; j--) v[j] = v[j - 1];
            v[4] += one;
            v[0] = one + two;
        }
        for (int i = 0; i < 8; i++) state[i] += v[i];
    }
    Bytes out;
    for (std::uint32_t word : state)
        for (int i = 3; i >= 0; i--) out.push_back(std::uint8_t(word >> (8 * i)));
    return out;
}

inline void keccak_f(std::array<std::uint64_t, 25>& a) {
    auto turn = [](std::uint64_t x, unsigned n) { return n ? (x << n) | (x >> (64 - n)) : x; };
    std::uint8_t lfsr = 1;  // rc(t) of FIPS 202, algorithm 5
    for (int round = 0; round < 24; round++) {
        std::uint64_t c[5], b[25];
        for (int x = 0; x < 5; x++) c[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
        for (int i = 0; i < 25; i++) a[i] ^= c[(i + 4) % 5] ^ turn(c[(i + 1) % 5], 1);
        int x = 1, y = 0;
        b[0] = a[0];
        for (unsigned t = 0; t < 24; t++) {
            int to = y + 5 * ((2 * x + 3 * y) % 5);
            b[to] = turn(a[x + 5 * y], (t + 1) * (t + 2) / 2 % 64);
            int next = (2 * x + 3 * y) % 5;
            x = y;
            y = next;
        }
        for (int row = 0; row < 25; row += 5)
            for (int i = 0; i < 5; i++) a[row + i] = b[row + i] ^ (~b[row + (i + 1) % 5] & b[row + (i + 2) % 5]);
        for (int j = 0; j < 7; j++) {
            if (lfsr & 1) a[0] ^= std::uint64_t(1) << ((1 << j) - 1);
            lfsr = std::uint8_t(lfsr << 1 ^ (lfsr >> 7 ? 0x71 : 0));
        }
    }
}

inline Bytes shake256(const Bytes& data, std::size_t size) {
    const std::size_t rate = 136;
    std::array<std::uint64_t, 25> state{};
    Bytes padded = data;
    padded.push_back(0x1f);
    padded.resize((padded.size() + rate - 1) / rate * rate);
    padded.back() ^= 0x80;
    for (std::size_t at = 0; at < padded.size(); at += rate) {
        for (std::size_t i = 0; i < rate; i++) state[i / 8] ^= std::uint64_t(padded[at + i]) << (8 * (i % 8));
        keccak_f(state);
    }
    Bytes out;
    for (std::size_t i = 0; out.size() < size; i++) {
        if (i == rate) {
            keccak_f(state);
            i = 0;
        }
        out.push_back(std::uint8_t(state[i / 8] >> (8 * (i % 8))));
    }
    return out;
}
