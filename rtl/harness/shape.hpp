// What a manifest says of a core, as binding.hpp (which is made from it) hands it to the harness.
#pragma once
#include <verilated.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// What a part of an operation's operands or results is taken from or put into. `rho` begins both keys.
enum class Source {
    literal, seed, rnd, sk, pk, rho, signature, message, context, m_prime, mu,
    message_bytes, context_bytes, m_prime_bytes, verdict,
};

// `size` bytes of it from `offset` on; `whole`: all that there are. Of a literal, the word is `value`.
struct Part {
    Source source;
    std::size_t offset, size;
    bool whole;
    std::uint64_t value;
};

enum Operation { KEYGEN, LOAD_KEY, SIGN, VERIFY, ZEROIZE, OPERATIONS };

// One operation in one parameter set.
struct Plan {
    bool known;
    std::vector<Part> load, store;
};

struct Sizes {
    std::size_t pk, sk, signature, tr;
};

// Of a stream: bytes of a word; whether byte 0 is the highest; what `last` marks the end of, if it is
// there; whether an offered word must stay until it is taken.
enum class Packet { none, part, all };
struct Stream {
    unsigned bytes;
    bool big;
    Packet packet;
    bool counts;  // the bytes of the last word are told
    bool steady;
    bool stalls;  // it may be stalled
};

// A word with the number of bytes that count.
struct Word {
    std::uint8_t data[64];
    unsigned bytes;
    bool last;
    bool operator==(const Word& other) const {
        return bytes == other.bytes && last == other.last && std::equal(data, data + bytes, other.data);
    }
};

// Ports of up to 64 bits are numbers, wider ones arrays of 32 bits.
template <class Port>
void put(Port& port, const Word& word, const Stream& stream) {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < stream.bytes; i++)
        value |= std::uint64_t(word.data[i]) << (8 * (stream.big ? stream.bytes - 1 - i : i));
    port = Port(value);
}
template <class Port>
void take(const Port& port, Word& word, const Stream& stream) {
    for (unsigned i = 0; i < stream.bytes; i++)
        word.data[i] = std::uint8_t(std::uint64_t(port) >> (8 * (stream.big ? stream.bytes - 1 - i : i)));
}
template <std::size_t N>
void put(VlWide<N>& port, const Word& word, const Stream& stream) {
    for (std::size_t i = 0; i < N; i++) port[i] = 0;
    for (unsigned i = 0; i < stream.bytes; i++) {
        unsigned at = stream.big ? stream.bytes - 1 - i : i;
        port[at / 4] |= EData(word.data[i]) << (8 * (at % 4));
    }
}
template <std::size_t N>
void take(const VlWide<N>& port, Word& word, const Stream& stream) {
    for (unsigned i = 0; i < stream.bytes; i++) {
        unsigned at = stream.big ? stream.bytes - 1 - i : i;
        word.data[i] = std::uint8_t(port[at / 4] >> (8 * (at % 4)));
    }
}
