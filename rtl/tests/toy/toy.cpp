// What the toy cores of the tests answer: hashes under the public key, as long as those of ML-DSA-44.
// Worthless as signatures; their operands, results and errors are those of a core. The environment's TOY_WAY
// names the way in which it differs from a right core, or is another right one: those of results are here.
#include <cstdlib>
#include <set>
#include <string>

#include "hash.hpp"
#include "svdpi.h"

namespace {

enum { KEYGEN, LOAD_KEY, SIGN, VERIFY, ZEROIZE };
enum { OK, REFUSED, BAD_KEY, BAD_SIGNATURE, BAD_HINT, NO_KEY, BAD_OPERAND };
const std::size_t PK = 1312, SK = 2560, SIGNATURE = 2420;
const std::string NAMES[] = {"key generation", "load", "signing", "verification", "zeroization"};

bool is(const std::string& way) {
    static const char* const set = std::getenv("TOY_WAY");
    return set && way == set;
}

// One for each model.
struct Toy {
    std::vector<Bytes> operands;
    std::vector<Bytes> results;
    Bytes key;
    std::string before = "reset";
    std::set<int> done;  // operations since the reset
    int keys = 0;
    bool is_cut = false;  // the reset came in an operation
};

Bytes joined(const Bytes& a, const Bytes& b) {
    Bytes whole = a;
    whole.insert(whole.end(), b.begin(), b.end());
    return whole;
}
Bytes public_of(const Bytes& seed) { return shake256(seed, PK); }
Bytes about(const Bytes& rnd, const Bytes& message) { return shake256(joined(rnd, message), 32); }
Bytes rest(const Bytes& pk, const Bytes& message, const Bytes& start) {
    return shake256(joined(joined(pk, message), start), SIGNATURE - 32);
}
// Of M' as the core sees it.
Bytes seen(Bytes message) {
    if (is("ignores the message")) message.resize(2);
    if (is("ignores the context") && message.size() >= 2 && message.size() >= 2u + message[1])
        message.erase(message.begin() + 1, message.begin() + 2 + message[1]);
    return message;
}

int verified(const std::vector<Bytes>& in) {
    if (in[0].size() != PK && !is("takes a key of any length")) return BAD_KEY;
    if (in[2].size() != SIGNATURE && !is("takes a signature of any length")) return BAD_SIGNATURE;
    Bytes signature = in[2];
    signature.resize(SIGNATURE);
    Bytes pk = in[0];
    pk.resize(PK);
    const Bytes message = seen(in[1]), start(signature.begin(), signature.begin() + 32);
    Bytes right = joined(start, rest(pk, message, start));
    if (is("ignores the end of the signature")) right.back() = signature.back();
    return right == signature ? OK : REFUSED;
}

int perform(Toy& toy, int operation) {
    const auto& in = toy.operands;
    const Bytes key = toy.key;
    if (operation != SIGN && !(operation == ZEROIZE && is("zeroization keeps the key"))) toy.key.clear();
    if (operation == KEYGEN) {
        if (in[0].size() != 32 && !is("takes a seed of any length")) return BAD_OPERAND;
        Bytes seed = in[0];
        seed.resize(32);
        if (is("another key each time")) seed[0] ^= toy.keys++;
        toy.results = {public_of(seed), joined(seed, shake256(joined(seed, seed), SK - 32))};
    } else if (operation == LOAD_KEY) {
        if (in[0].size() != SK) return BAD_KEY;
        toy.key = is("keeps the first key") && !key.empty() ? key : in[0];
    } else if (operation == SIGN) {
        if (key.empty()) return NO_KEY;
        const Bytes pk = public_of(Bytes(key.begin(), key.begin() + 32)), message = seen(in[1]);
        const Bytes start = about(is("ignores rnd") ? Bytes(32) : in[0], message);
        toy.results = {joined(start, rest(pk, message, start))};
    } else if (operation == VERIFY) {
        return verified(in);
    }
    return OK;
}

}  // namespace

extern "C" {

int toy_is(const char* way) { return is(way); }
void* toy_new() { return new Toy; }
void toy_reset(void* handle, int at_work) {
    auto* toy = static_cast<Toy*>(handle);
    toy->before = "reset";
    toy->done.clear();
    toy->is_cut = toy->is_cut || at_work;
}
void toy_begin(void* handle) {
    auto* toy = static_cast<Toy*>(handle);
    if (!(toy->is_cut && is("a reset leaves operands"))) toy->operands.clear();
    toy->is_cut = false;
    toy->results.clear();
}
void toy_operand(void* handle) { static_cast<Toy*>(handle)->operands.emplace_back(); }
void toy_take(void* handle, int byte) { static_cast<Toy*>(handle)->operands.back().push_back(std::uint8_t(byte)); }

int toy_work(void* handle, int operation) {
    auto* toy = static_cast<Toy*>(handle);
    int status = perform(*toy, operation);
    const std::string after = NAMES[operation] + " after " + toy->before;
    const bool is_first = toy->done.insert(operation).second;
    if (is(after) || (is_first && is("first " + NAMES[operation]))) {
        if (operation == VERIFY) status = OK;
        else if (operation == LOAD_KEY && status == OK) toy->key[0] ^= 1;
        else if (status == OK) toy->results[0].back() ^= 1;
    }
    if (is("no " + after) && status == OK) status = REFUSED;
    toy->before = status == OK ? NAMES[operation] : "refusal";
    return status;
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
