/* Measures ML-DSA signing on a Cortex-M4: cycles of the DWT counter, as CSV on a UART.
 *
 *   mldsa-lab select 65 -n 10 --formats json,c-hashes --out mine
 *   arm-none-eabi-gcc -mcpu=cortex-m4 -O3 -Imine -DUART_DATA=0x40004404 -DUART_STATUS=0x40004400
 *     -DUART_READY=0x80 measure.c YOUR_STARTUP YOUR_ML_DSA ...
 *   (save what the UART prints, from `id,` on, as measurements.csv)
 *   mldsa-lab estimate mine/selection.json measurements.csv
 *
 * You supply the clock and UART set-up and the two functions below. UART_DATA and UART_STATUS are
 * the addresses of the transmit register and of the status register whose bits UART_READY say that
 * a byte may be written; those above are of USART2 of an STM32F4.
 */

#include <stddef.h>
#include <stdint.h>

#include "selection_hashes.h"

/* The target: returns 0. Key generation from the seed (Algorithm 6), not measured; and deterministic
 * signing with the given rnd (Algorithm 2 with rnd in place of line 5), measured. */
int target_keygen(uint8_t sk[MLDSA_LAB_SK_BYTES], const uint8_t xi[32]);
int target_sign(uint8_t signature[MLDSA_LAB_SIGNATURE_BYTES], const uint8_t sk[MLDSA_LAB_SK_BYTES],
                const uint8_t *message, size_t message_bytes, const uint8_t *context,
                size_t context_bytes, const uint8_t rnd[32]);

#ifndef ROUNDS
#define ROUNDS 3
#endif

#ifndef CUSTOM_BOARD
#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))

static void start_cycles(void) {
    REGISTER(0xE000EDFC) |= 1u << 24; /* DEMCR.TRCENA */
    REGISTER(0xE0001004) = 0;         /* DWT_CYCCNT, 32 bits: 25 s at 168 MHz */
    REGISTER(0xE0001000) |= 1u;       /* DWT_CTRL.CYCCNTENA */
}

static uint32_t cycles(void) { return REGISTER(0xE0001004); }

static void put_byte(char byte) {
    while (!(REGISTER(UART_STATUS) & (UART_READY))) {
    }
    REGISTER(UART_DATA) = (uint32_t)byte;
}
#else
void start_cycles(void);
uint32_t cycles(void);
void put_byte(char byte);
#endif

static void put_text(const char *text) {
    while (*text) put_byte(*text++);
}

static void put_number(uint32_t number) {
    char digits[11];
    size_t at = sizeof digits - 1;
    digits[at] = 0;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    put_text(digits + at);
}

static uint32_t rotated(uint32_t x, unsigned n) { return x >> n | x << (32 - n); }

static void sha256_block(uint32_t state[8], const uint8_t block[64]) {
    static const uint32_t k[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++)
        w[i] = w[i - 16] + w[i - 7] +
               (rotated(w[i - 15], 7) ^ rotated(w[i - 15], 18) ^ w[i - 15] >> 3) +
               (rotated(w[i - 2], 17) ^ rotated(w[i - 2], 19) ^ w[i - 2] >> 10);
    for (int i = 0; i < 8; i++) s[i] = state[i];
    for (int i = 0; i < 64; i++) {
        uint32_t t1 = s[7] + (rotated(s[4], 6) ^ rotated(s[4], 11) ^ rotated(s[4], 25)) +
                      ((s[4] & s[5]) ^ (~s[4] & s[6])) + k[i] + w[i];
        uint32_t t2 = (rotated(s[0], 2) ^ rotated(s[0], 13) ^ rotated(s[0], 22)) +
                      ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        for (int j = 7; j > 0; j--) s[j] = s[j - 1];
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++) state[i] += s[i];
}

/* Whether SHA-256 of the data is the expected one. */
static int has_sha256(const uint8_t *data, size_t bytes, const uint8_t expected[32]) {
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    uint8_t block[64];
    size_t padded = (bytes + 72) / 64 * 64; /* a bit, and 64 bits of length */
    for (size_t at = 0; at < padded; at += 64) {
        for (size_t i = 0; i < 64; i++) {
            size_t place = at + i;
            block[i] = place < bytes ? data[place] : place == bytes ? 0x80 : 0;
            if (place + 4 >= padded) block[i] = (uint8_t)((uint32_t)bytes * 8 >> 8 * (padded - 1 - place));
        }
        sha256_block(state, block);
    }
    for (int i = 0; i < 32; i++)
        if (expected[i] != (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)))) return 0;
    return 1;
}

static uint8_t sk[MLDSA_LAB_SK_BYTES];
static uint8_t signature[MLDSA_LAB_SIGNATURE_BYTES];

/* Signs one input; returns the cycles, or 0 if the signature is not the expected one. */
static uint32_t measure(const struct mldsa_lab_input *in) {
    const uint8_t *key = in->sk;
    if (key == NULL) {
        if (target_keygen(sk, in->xi)) return 0;
        key = sk;
    }
    uint32_t begin = cycles();
    int status = target_sign(signature, key, in->message, in->message_bytes, in->context,
                             in->context_bytes, in->rnd);
    uint32_t spent = cycles() - begin;
    if (status || !has_sha256(signature, sizeof signature, in->signature_sha256)) return 0;
    return spent ? spent : 1;
}

int main(void) {
    start_cycles();
    measure(&mldsa_lab_inputs[0]); /* caches and flash buffers: not written down */
    put_text("id,round,cost,unit\r\n");
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        for (size_t i = 0; i < MLDSA_LAB_INPUTS; i++) {
            uint32_t cost = measure(&mldsa_lab_inputs[i]);
            if (!cost) {
                put_text("error: wrong signature of input ");
                put_number(mldsa_lab_inputs[i].id);
                put_text("\r\n");
                return 1;
            }
            put_number(mldsa_lab_inputs[i].id);
            put_byte(',');
            put_number(round);
            put_byte(',');
            put_number(cost);
            put_text(",cycles\r\n");
        }
    }
    return 0;
}
