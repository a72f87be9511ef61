// What toy.sv answers as a core of round 3: known answers, of the file that TOY_ANSWERS names. Each line has
// the operation, its operands, the cycles that it works, its status and its results, bytes in hexadecimal:
//   OPERATION OPERAND,OPERAND CYCLES STATUS RESULT,RESULT     (`-` for none)
// Whatever is not in the file has the status 6. A key that was loaded stands before the operands of signing.
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "svdpi.h"

namespace {

enum { KEYGEN, LOAD_KEY, SIGN, VERIFY, ZEROIZE };
const int UNKNOWN = 6;

struct Known {
    int cycles, status;
    std::vector<std::string> results;
};
struct Replay {
    std::map<std::string, Known> answers;
    std::string operands, key;
    const Known* now = nullptr;
    int worked = 0;
};

std::string hex(int byte) {
    const char* digits = "0123456789abcdef";
    return {digits[byte >> 4 & 15], digits[byte & 15]};
}
Replay& at(void* handle) { return *static_cast<Replay*>(handle); }

}  // namespace

extern "C" {

int toy_is(const char*) { return 0; }
void toy_reset(void*, int) {}
void* toy_new() {
    auto* toy = new Replay;
    const char* path = std::getenv("TOY_ANSWERS");
    std::ifstream file(path ? path : "");
    for (std::string operation, operands, results, result; file >> operation >> operands;) {
        Known known;
        file >> known.cycles >> known.status >> results;
        std::istringstream parts(results);
        while (results != "-" && std::getline(parts, result, ',')) known.results.push_back(result);
        toy->answers[operation + operands] = known;
    }
    return toy;
}
void toy_begin(void* handle) {
    at(handle).operands.clear();
    at(handle).now = nullptr;
    at(handle).worked = 0;
}
void toy_operand(void* handle) {
    if (!at(handle).operands.empty()) at(handle).operands += ',';
}
void toy_take(void* handle, int byte) { at(handle).operands += hex(byte); }
int toy_work(void* handle, int operation) {
    Replay& toy = at(handle);
    if (!toy.now) {
        if (operation == LOAD_KEY) {
            toy.key = toy.operands;
            return 0;
        }
        if (operation == ZEROIZE) {
            toy.key.clear();
            return 0;
        }
        const std::string key = operation == SIGN ? toy.key + "," : "";
        const auto found = toy.answers.find(std::to_string(operation) + key + toy.operands);
        if (found == toy.answers.end()) return UNKNOWN;
        toy.now = &found->second;
    }
    return ++toy.worked < toy.now->cycles ? -1 : toy.now->status;
}
int toy_one_go(void* handle, int operation) { return toy_work(handle, operation); }
int toy_results(void* handle) { return at(handle).now ? int(at(handle).now->results.size()) : 0; }
int toy_size(void* handle, int result) {
    if (result < 0 || result >= toy_results(handle)) return 0;
    return int(at(handle).now->results[std::size_t(result)].size() / 2);
}
int toy_give(void* handle, int result, int place) {
    if (place < 0 || place >= toy_size(handle, result)) return 0;
    return std::stoi(at(handle).now->results[std::size_t(result)].substr(2 * std::size_t(place), 2), nullptr, 16);
}

}  // extern "C"
