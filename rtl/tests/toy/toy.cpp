// What the toy cores of the tests answer: hashes under the public key, as long as those of ML-DSA-44.
// Worthless as signatures; their operands, results and errors are those of a core.
#include "hash.hpp"
#include "svdpi.h"

namespace {

enum { KEYGEN, LOAD_KEY, SIGN, VERIFY };
enum { OK, REFUSED, BAD_KEY, BAD_SIGNATURE, BAD_HINT, NO_KEY, BAD_OPERAND };
const std::size_t PK = 1312, SK = 2560, SIGNATURE = 2420;

// One for each model.
struct Toy {
    std::vector<Bytes> operands;
    std::vector<Bytes> results;
    Bytes key;
};

Bytes joined(const Bytes& a, const Bytes& b) {
    Bytes whole = a;
    whole.insert(whole.end(), b.begin(), b.end());
    return whole;
}
Bytes public_of(const Bytes& seed) { return shake256(seed, PK); }
Bytes signature_of(const Bytes& pk, const Bytes& message, const Bytes& rnd) {
    const Bytes about = shake256(joined(rnd, message), 32);
    return joined(about, shake256(joined(joined(pk, message), about), SIGNATURE - 32));
}

}  // namespace

extern "C" {

void* toy_new() { return new Toy; }
void toy_begin(void* handle) {
    auto* toy = static_cast<Toy*>(handle);
    toy->operands.clear();
    toy->results.clear();
}
void toy_operand(void* handle) { static_cast<Toy*>(handle)->operands.emplace_back(); }
void toy_take(void* handle, int byte) { static_cast<Toy*>(handle)->operands.back().push_back(std::uint8_t(byte)); }

int toy_work(void* handle, int operation) {
    auto* toy = static_cast<Toy*>(handle);
    const auto& in = toy->operands;
    const Bytes key = toy->key;
    if (operation != SIGN) toy->key.clear();
    if (operation == KEYGEN) {
        if (in[0].size() != 32) return BAD_OPERAND;
        toy->results = {public_of(in[0]), joined(in[0], shake256(joined(in[0], in[0]), SK - 32))};
    } else if (operation == LOAD_KEY) {
        if (in[0].size() != SK) return BAD_KEY;
        toy->key = in[0];
    } else if (operation == SIGN) {
        if (key.empty()) return NO_KEY;
        toy->results = {signature_of(public_of(Bytes(key.begin(), key.begin() + 32)), in[1], in[0])};
    } else {
        if (in[0].size() != PK) return BAD_KEY;
        if (in[2].size() != SIGNATURE) return BAD_SIGNATURE;
        const Bytes about(in[2].begin(), in[2].begin() + 32);
        const Bytes right = joined(about, shake256(joined(joined(in[0], in[1]), about), SIGNATURE - 32));
        return right == in[2] ? OK : REFUSED;
    }
    return OK;
}
// Signing with the key, rnd and message in one go.
int toy_one_go(void* handle, int operation) {
    auto* toy = static_cast<Toy*>(handle);
    toy->key = toy->operands[0];
    toy->operands.erase(toy->operands.begin());
    return toy_work(handle, operation);
}
int toy_results(void* handle) { return int(static_cast<Toy*>(handle)->results.size()); }
// Registers begin with random values, so results may be asked for that there are none of.
int toy_size(void* handle, int result) {
    const auto& results = static_cast<Toy*>(handle)->results;
    return result >= 0 && std::size_t(result) < results.size() ? int(results[std::size_t(result)].size()) : 0;
}
int toy_give(void* handle, int result, int place) {
    if (place < 0 || place >= toy_size(handle, result)) return 0;
    return static_cast<Toy*>(handle)->results[std::size_t(result)][std::size_t(place)];
}

}  // extern "C"
