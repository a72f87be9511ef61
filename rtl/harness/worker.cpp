// A core as a worker: lab/workers/PROTOCOL.md over its model, with cycles of its clock as ticks. One request
// more, `counters JOB`, has one line in reply: `counters` and, of each input in order, joined by commas, what
// the core's own counters said when it was last performed, `-` for those that it lacks or if it failed.
//
//   mldsa-worker-core [--stalls none|random] [--resets] [--threads N]
//
// Answers are given under random stalls of every interface unless they are switched off, measurements
// without any; the lab compares the bytes of both. An input of each operation and outcome is answered again
// after a reset, a load, refusals and zeroization: all must be the same. With --resets each operation to answer
// is first begun, and reset in a random cycle. Inputs of a request are shared among threads, each with a model
// of its own. A counter of cycles that is wrong is noted once on standard error and left out.
#include <array>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <tuple>

#include "core.hpp"

namespace {

using std::string;

const char* const DIGITS = "0123456789abcdef";
const std::size_t CONTEXT_MAX = 255;
const int ENDLESS_MAX = 3;
// Bytes in a row, or in all, by which two states after zeroization differ if more than counters is left.
const std::size_t STATE_ROW = 16, STATE_BYTES = 256;

struct Refusal : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Input {
    std::uint64_t id = 0;
    Fields fields;
    std::set<string> given;
};
// Of one operation: what failed, or the output (and private key) with the cycles that it took.
struct Result {
    string failure;
    Bytes value, private_key;
    Cycles cycles;
    std::vector<std::uint64_t> counted;
    std::vector<string> miscounted;
    // The parts that must not depend on the operations before.
    bool same(const Result& other) const {
        return failure == other.failure && value == other.value && private_key == other.private_key;
    }
};
// Operations before another one: their name, and how to perform them.
struct Order {
    string name;
    std::function<string(Core&)> arrange;  // returns what went wrong
};
struct Job {
    bool loaded = false;  // signing with the key loaded before
    int set = 0;
    string operation;
    std::vector<Input> inputs;
    std::vector<Result> results;  // of the last request
};

string hex(const Bytes& data) {
    if (data.empty()) return "-";
    string text;
    for (std::uint8_t byte : data) {
        text += DIGITS[byte >> 4];
        text += DIGITS[byte & 15];
    }
    return text;
}

Bytes unhex(const string& text) {
    Bytes data;
    if (text == "-") return data;
    if (text.empty() || text.size() % 2) throw Refusal("bytes must be lower-case hexadecimal or `-`");
    for (std::size_t i = 0; i < text.size(); i += 2) {
        const char* high = std::char_traits<char>::find(DIGITS, 16, text[i]);
        const char* low = std::char_traits<char>::find(DIGITS, 16, text[i + 1]);
        if (!high || !low) throw Refusal("bytes must be lower-case hexadecimal or `-`");
        data.push_back(std::uint8_t((high - DIGITS) << 4 | (low - DIGITS)));
    }
    return data;
}

std::uint64_t number(const string& text) {
    if (text.empty() || text.size() > 20 || text.find_first_not_of("0123456789") != string::npos)
        throw Refusal("expected a decimal number without sign");
    std::uint64_t value = 0;
    for (char c : text) {
        const std::uint64_t digit = std::uint64_t(c - '0');
        if (value > (UINT64_MAX - digit) / 10) throw Refusal("a number does not fit in 64 bits");
        value = 10 * value + digit;
    }
    return value;
}

std::vector<string> split(const string& line) {
    std::vector<string> words(1);
    for (char c : line)
        if (c == ' ')
            words.emplace_back();
        else
            words.back() += c;
    return words;
}

int set_of(const string& name) {
    for (std::size_t i = 0; i < binding::SETS.size(); i++)
        if (binding::SETS[i] == name) return int(i);
    throw Refusal("unknown set");
}

class Worker {
public:
    Worker(bool stalls, bool resets, unsigned threads) : stalls_(stalls), resets_(resets) {
        for (unsigned i = 0; i < threads; i++) cores_.push_back(std::make_unique<Core>(i * 1000003ULL + 1));
    }

    int serve() {
        string line;
        while (std::getline(std::cin, line)) {
            if (line == "quit") return 0;
            string reply;
            try {
                const std::vector<string> words = split(line);
                if (words[0] == "prepare")
                    reply = prepare(words);
                else if (line == "hello 1")
                    reply = binding::HELLO;
                else if (words[0] == "answer" && words.size() == 2)
                    reply = answer(words);
                else if (words[0] == "measure" && words.size() == 5)
                    reply = measure(words);
                else if (words[0] == "counters" && words.size() == 2)
                    reply = counters(words);
                else if (words[0] == "forget" && words.size() == 2)
                    reply = forget(words);
                else
                    throw Refusal("unknown or malformed request");
            } catch (const Refusal& refusal) {
                reply = string("error ") + refusal.what() + "\n";
            }
            std::cout << reply << std::flush;
        }
        return 0;
    }

private:
    std::map<std::uint64_t, Job> jobs_;
    std::vector<std::unique_ptr<Core>> cores_;
    bool stalls_, resets_;
    using Kind = std::tuple<int, string, bool, string>;  // set, operation, key form, verdict
    std::set<Kind> ordered_;                             // of which an input was answered in every order
    struct Endless {
        int times = 0;
        string fault;
    };
    std::array<std::array<Endless, 3>, OPERATIONS> endless_;  // by operation and set
    std::set<string> noted_;
    std::mutex noting_;  // of these two

    Job& job_of(const string& text) {
        auto found = jobs_.find(number(text));
        if (found == jobs_.end()) throw Refusal("unknown job");
        return found->second;
    }

    string prepare(const std::vector<string>& words) {
        std::vector<string> lines;
        string line;
        while (std::getline(std::cin, line) && line != "end") lines.push_back(line);
        if (words.size() != 2) throw Refusal("expected `prepare JOB`");
        const std::uint64_t id = number(words[1]);
        const char* const head[] = {"variant ", "set ", "operation "};
        for (std::size_t i = 0; i < 3; i++)
            if (lines.size() <= i || lines[i].rfind(head[i], 0) != 0)
                throw Refusal("variant, set and operation must come first");
        const string variant = lines[0].substr(8);
        Job job;
        job.set = set_of(lines[1].substr(4));
        job.operation = lines[2].substr(10);
        job.loaded = variant == binding::VARIANT + ":expanded";
        if (!job.loaded && variant != binding::VARIANT + ":compact") throw Refusal("unknown variant");
        if (job.loaded && (job.operation != "sign" || !binding::PLANS[LOAD_KEY][job.set].known))
            throw Refusal("this variant has no such operation");
        if (!plan_of(job).known) throw Refusal("the core has no such operation");
        for (std::size_t i = 3; i < lines.size(); i++) take_field(job, lines[i]);
        std::set<std::uint64_t> ids;
        for (const Input& input : job.inputs) {
            check(job, input);
            if (!ids.insert(input.id).second) throw Refusal("an input number is given twice");
        }
        jobs_[id] = job;
        return "ready " + words[1] + "\n";
    }

    static const Plan& plan_of(const Job& job) {
        static const std::map<string, Operation> known{{"keygen", KEYGEN}, {"sign", SIGN}, {"verify", VERIFY}};
        auto found = known.find(job.operation);
        if (found == known.end()) throw Refusal("unknown operation");
        return binding::PLANS[found->second][job.set];
    }

    static void take_field(Job& job, const string& line) {
        const std::size_t space = line.find(' ');
        const string key = line.substr(0, space), value = space == string::npos ? "" : line.substr(space + 1);
        if (key == "input") {
            job.inputs.emplace_back();
            job.inputs.back().id = number(value);
            return;
        }
        if (job.inputs.empty()) throw Refusal("a field stands before the first input");
        Input& input = job.inputs.back();
        Fields& f = input.fields;
        const std::map<string, Bytes*> fields{{"seed", &f.seed}, {"sk", &f.sk}, {"pk", &f.pk},
                                              {"message", &f.message}, {"context", &f.context},
                                              {"rnd", &f.rnd}, {"signature", &f.signature}};
        auto found = fields.find(key);
        if (found == fields.end()) throw Refusal("unknown field");
        *found->second = unhex(value);
        if (!input.given.insert(key).second) throw Refusal("a field is given twice");
    }

    static void check(const Job& job, const Input& input) {
        static const std::map<string, std::pair<std::vector<string>, std::set<string>>> rules{
            {"keygen", {{"seed"}, {"seed"}}},
            {"sign", {{"message", "context", "rnd"}, {"seed", "sk", "pk", "message", "context", "rnd"}}},
            {"verify", {{"pk", "message", "context", "signature"}, {"pk", "message", "context", "signature"}}}};
        const auto& [needed, allowed] = rules.at(job.operation);
        for (const string& name : needed)
            if (!input.given.count(name)) throw Refusal("a field is missing: " + name);
        for (const string& name : input.given)
            if (!allowed.count(name)) throw Refusal("the operation has no field " + name);
        if (job.operation == "sign" && !input.given.count(binding::PRIVATE_KEY))
            throw Refusal("a field is missing: " + binding::PRIVATE_KEY);
    }

    // What the core cannot be handed: it has no way to see a wrong length, or no place for the value.
    static string unfit(const Job& job, const Input& input) {
        const Fields& f = input.fields;
        if (job.operation != "keygen" && f.context.size() > CONTEXT_MAX) return "the context is longer than 255 bytes";
        if (job.operation != "keygen" && !binding::CONTEXT && !f.context.empty()) return "the core takes no context";
        if (job.operation == "sign" && !binding::RND && f.rnd != Bytes(32)) return "the core signs deterministically alone";
        if (job.operation == "sign" && f.rnd.size() != 32) return "rnd must have 32 bytes";
        const Sizes& sizes = binding::SIZES[job.set];
        if (binding::INPUT.packet == Packet::part && binding::INPUT.counts) return "";
        const std::map<string, std::pair<std::size_t, std::size_t>> fixed{
            {"seed", {f.seed.size(), 32}}, {"sk", {f.sk.size(), sizes.sk}}, {"pk", {f.pk.size(), sizes.pk}},
            {"signature", {f.signature.size(), sizes.signature}}};
        for (const auto& [name, size] : fixed)
            if (input.given.count(name) && size.first != size.second) return name + " has a wrong length";
        return "";
    }

    static Result failed(const string& text) {
        Result result;
        result.failure = text;
        return result;
    }

    static Operation operation_of(const Job& job) {
        return job.operation == "keygen" ? KEYGEN : job.operation == "sign" ? SIGN : VERIFY;
    }

    // An operation on a core. After three that reached the limit no more is waited for.
    Outcome attempt(Core& core, Operation operation, const Job& job, const Fields& fields, bool stalled,
                    std::uint64_t seed) {
        Endless& endless = endless_[operation][job.set];
        Outcome found;
        {
            const std::lock_guard<std::mutex> lock(noting_);
            if (endless.times >= ENDLESS_MAX) {
                found.fault = string("not performed, as ") + NAMES[operation] + " failed " +
                              std::to_string(ENDLESS_MAX) + " times with: " + endless.fault;
                return found;
            }
        }
        found = core.perform(operation, job.set, fields, stalled, seed);
        if (found.endless) {
            const std::lock_guard<std::mutex> lock(noting_);
            endless.times++;
            endless.fault = found.fault;
        }
        for (std::size_t i = 0; i < found.miscounted.size(); i++) {
            const string about = NAMES[operation] + binding::COUNTERS[i] + std::to_string(job.set);
            const std::lock_guard<std::mutex> lock(noting_);
            if (!found.miscounted[i].empty() && noted_.insert(about).second)
                note(string(NAMES[operation]) + ", " + binding::SETS[job.set] + ": " + found.miscounted[i] +
                     "; the cycles are the harness's, and the counter has a dash");
        }
        return found;
    }

    Result perform(Core& core, const Job& job, const Input& input, bool answering) {
        return perform(core, job, input, answering && stalls_, answering && resets_);
    }
    Result perform(Core& core, const Job& job, const Input& input, bool stalled, bool reset) {
        static const Bytes accepted{1}, refused{0};
        const Operation operation = operation_of(job);
        const std::uint64_t seed = input.id * 0x9e3779b97f4a7c15ULL + std::uint64_t(operation);
        Result result;
        const string reason = unfit(job, input);
        if (!reason.empty() && operation == VERIFY) {
            result.value = refused;
            return result;
        }
        if (!reason.empty()) return failed(reason);
        const bool loads = operation == SIGN && binding::PLANS[LOAD_KEY][job.set].known;
        if (reset) {
            std::mt19937_64 random(seed);
            const bool in_load = loads && random() % 4 == 0;
            const std::uint64_t stop = 1 + random() % (16ULL << random() % 13);
            if (loads && !in_load) core.perform(LOAD_KEY, job.set, input.fields, false, seed);
            core.perform(in_load ? LOAD_KEY : operation, job.set, input.fields, stalled, seed, stop);
        }
        if (loads && !(job.loaded && core.holds(job.set, input.fields))) {
            const Outcome load = attempt(core, LOAD_KEY, job, input.fields, stalled, seed + 1);
            if (!load.fault.empty()) return failed("loading the key: " + load.fault);
            if (load.status != binding::OK) return failed("loading the key: " + binding::status(load.status));
            if (!job.loaded) result.cycles += load.cycles;
        }
        const Outcome found = attempt(core, operation, job, input.fields, stalled, seed);
        if (!found.fault.empty()) return failed(found.fault);
        result.cycles += found.cycles;
        result.counted = found.counted;
        result.miscounted = found.miscounted;
        if (operation == VERIFY) {
            const bool known = found.status == binding::OK || binding::refuses(found.status);
            if (!known) return failed(binding::status(found.status));
            result.value = found.status == binding::OK && binding::accepts(found.verdict) ? accepted : refused;
            return result;
        }
        if (found.status != binding::OK) return failed(binding::status(found.status));
        result.value = operation == KEYGEN ? found.pk : found.signature;
        result.private_key = found.sk;
        return result;
    }

    // The orders that the core has. Operands to refuse: an all-zero signature and, where the core sees lengths, a
    // key or seed that lacks a byte.
    std::vector<Order> orders_of(int set) const {
        const Sizes& sizes = binding::SIZES[set];
        const auto has = [set](Operation operation) { return binding::PLANS[operation][set].known; };
        const bool sees_lengths = binding::INPUT.packet == Packet::part && binding::INPUT.counts;
        std::vector<Order> orders{{"after a reset", [](Core& core) { return core.restart(), string(); }}};
        const auto add = [&](const string& name, Operation operation, const Fields& fields) {
            orders.push_back({name, [=](Core& core) { return core.perform(operation, set, fields, false, 0).fault; }});
        };
        Fields zeros;
        zeros.seed = zeros.rnd = Bytes(32);
        zeros.sk = Bytes(sizes.sk);
        zeros.pk = Bytes(sizes.pk);
        zeros.signature = Bytes(sizes.signature);
        Fields lacking = zeros;
        lacking.seed.pop_back();
        lacking.sk.pop_back();
        if (has(LOAD_KEY)) add("after another key was loaded", LOAD_KEY, zeros);
        if (has(VERIFY)) add("after a refused signature", VERIFY, zeros);
        if (has(LOAD_KEY) && sees_lengths) add("after a refused key", LOAD_KEY, lacking);
        if (has(KEYGEN) && sees_lengths) add("after a refused seed", KEYGEN, lacking);
        if (binding::ZEROIZES) orders.push_back({"after zeroization", [set](Core& core) { return core.zeroize(set); }});
        return orders;
    }

    // The result of an input in every order, where it is one of its kind. A fault where they differ.
    Result in_every_order(Core& core, const Job& job, const Input& input, const Result& asked) {
        std::vector<std::pair<string, Result>> results{{"in the order of the requests", asked}};
        for (const Order& order : orders_of(job.set)) {
            const string fault = order.arrange(core);
            if (!fault.empty()) return failed("the operation before failed (" + order.name + "): " + fault);
            results.emplace_back(order.name, perform(core, job, input, false, false));
        }
        // Most of them are taken to be right.
        const auto alike = [&](const Result& one) {
            return std::count_if(results.begin(), results.end(), [&](auto& r) { return r.second.same(one); });
        };
        const Result usual = std::max_element(results.begin(), results.end(), [&](auto& a, auto& b) {
            return alike(a.second) < alike(b.second);
        })->second;
        string different;
        for (const auto& [name, result] : results)
            if (!result.same(usual))
                different += (different.empty() ? "" : ", ") +
                             (result.failure.empty() ? "another output" : "`" + result.failure + "`") + " " + name;
        return different.empty() ? asked : failed("its result depends on the operation before: " + different);
    }

    // The fault of the declared zeroization after this operation on this input, if any.
    static string zeroization_fault(Core& core, const Job& job, const Input& input) {
        const Operation operation = operation_of(job);
        const bool loads = operation == SIGN && binding::PLANS[LOAD_KEY][job.set].known;
        if (loads) {
            core.perform(LOAD_KEY, job.set, input.fields, false, 0);
            const string fault = core.zeroize(job.set);
            if (!fault.empty()) return fault;
            const Outcome signing = core.perform(SIGN, job.set, input.fields, false, 0);
            if (signing.whole && signing.status == binding::OK) return "it signs with a key that was zeroized";
            // Without a response a core can refuse only by making no signature.
            if (binding::HAS_RESPONSE && !signing.fault.empty()) return "signing after it: " + signing.fault;
        }
#ifdef CORE_IS_SAVED
        // The same but for secrets: the seed; of a key K alone, so that signing ends; and all of a key, loaded.
        Fields other = input.fields, none = input.fields;
        for (auto& byte : other.seed) byte ^= 0xa5;
        for (std::size_t i = 32; i < 64 && i < other.sk.size(); i++) other.sk[i] ^= 0xa5;
        std::fill(none.sk.begin(), none.sk.end(), 0);
        std::fill(none.seed.begin(), none.seed.end(), 0);
        const std::vector<Operation> load{LOAD_KEY}, all = loads ? std::vector<Operation>{LOAD_KEY, SIGN}
                                                                : std::vector<Operation>{operation};
        const auto left = [&](const std::vector<Operation>& operations, const Fields& changed) {
            return depends(core.state_after_zeroizing(operations, job.set, input.fields),
                           core.state_after_zeroizing(operations, job.set, changed));
        };
        const std::size_t bytes = std::max(left(all, other), loads ? left(load, none) : 0);
        if (bytes) return std::to_string(bytes) + " bytes of its registers and memories still depend on the key";
#endif
        return "";
    }

    // How many bytes of two states differ: 0 where it is but counters, a few bytes here and there.
    static std::size_t depends(const Bytes& one, const Bytes& other) {
        std::size_t all = 0, in_row = 0, longest = 0;
        for (std::size_t i = 0; i < one.size() && i < other.size(); i++) {
            in_row = one[i] != other[i] ? in_row + 1 : 0;
            all += one[i] != other[i];
            longest = std::max(longest, in_row);
        }
        return longest >= STATE_ROW || all >= STATE_BYTES ? all : 0;
    }

    // Answers the first input of each kind in every order, and tests zeroization after it.
    void vary_orders(Job& job) {
        if (!binding::COMPLETE_RESET) return;  // each operation has a model of its own
        std::vector<std::pair<std::size_t, Kind>> chosen;
        for (std::size_t i = 0; i < job.results.size(); i++) {
            const Result& r = job.results[i];
            const string verdict = job.operation == "verify" ? hex(r.value) : "";
            const Kind kind{job.set, job.operation, job.loaded, verdict};
            if (r.failure.empty() && unfit(job, job.inputs[i]).empty() && ordered_.insert(kind).second)
                chosen.emplace_back(i, kind);
        }
        share(chosen.size(), [&](Core& core, std::size_t at) {
            const std::size_t i = chosen[at].first;
            Result& result = job.results[i];
            result = in_every_order(core, job, job.inputs[i], result);
            if (!binding::ZEROIZES || job.operation == "verify" || !result.failure.empty()) return;
            const string fault = zeroization_fault(core, job, job.inputs[i]);
            if (!fault.empty()) result = failed("zeroization: " + fault);
        });
        // A failure is told again for the next input: a check may have no use for the first answer.
        for (const auto& [i, kind] : chosen)
            if (!job.results[i].failure.empty()) ordered_.erase(kind);
    }

    // Work on so many inputs, each on one of the cores.
    template <class Work>
    void share(std::size_t count, const Work& work) {
        std::atomic<std::size_t> next{0};
        const auto take = [&](Core& core) {
            for (std::size_t i; (i = next++) < count;) work(core, i);
        };
        std::vector<std::thread> others;
        for (std::size_t i = 1; i < std::min(cores_.size(), count); i++)
            others.emplace_back(take, std::ref(*cores_[i]));
        take(*cores_[0]);
        for (std::thread& other : others) other.join();
    }

    // All inputs, shared among the cores.
    const std::vector<Result>& perform_all(Job& job, bool answering, std::uint64_t calls) {
        std::vector<Result>& results = job.results;
        results.assign(job.inputs.size(), Result{});
        share(job.inputs.size(), [&](Core& core, std::size_t i) {
            Cycles cycles;
            for (std::uint64_t call = 0; call < calls; call++) {
                results[i] = perform(core, job, job.inputs[i], answering);
                cycles += results[i].cycles;
            }
            results[i].cycles = cycles;
        });
        return results;
    }

    string answer(const std::vector<string>& words) {
        Job& job = job_of(words[1]);
        const std::vector<Result>& results = perform_all(job, true, 1);
        vary_orders(job);
        std::ostringstream reply;
        for (std::size_t i = 0; i < results.size(); i++) {
            const Result& r = results[i];
            reply << (r.failure.empty() ? "output " : "failed ") << job.inputs[i].id << ' '
                  << (r.failure.empty() ? hex(r.value) : r.failure);
            if (r.failure.empty() && job.operation == "keygen") reply << ' ' << hex(r.private_key);
            reply << '\n';
        }
        reply << "done " << words[1] << '\n';
        return reply.str();
    }

    string measure(const std::vector<string>& words) {
        Job& job = job_of(words[1]);
        const std::uint64_t passes = number(words[2]), calls = number(words[3]), warmup = number(words[4]);
        if (calls == 0) throw Refusal("CALLS must not be 0");
        // At least one call, until so many cycles have gone by.
        std::uint64_t spent = 0;
        bool all_failed = true;
        for (std::size_t i = 0; !job.inputs.empty() && (i == 0 || spent < warmup); i++) {
            const Result r = perform(*cores_[0], job, job.inputs[i % job.inputs.size()], false);
            spent += r.cycles.total();
            all_failed = all_failed && !r.failure.empty();
            if (all_failed && i >= job.inputs.size()) break;
        }
        std::ostringstream reply;
        for (std::uint64_t pass = 0; pass < passes; pass++) {
            const std::vector<Result>& results = perform_all(job, false, calls);
            for (std::size_t i = 0; i < results.size(); i++) {
                const Result& r = results[i];
                if (!r.failure.empty()) {
                    reply << "failed " << job.inputs[i].id << ' ' << r.failure << '\n';
                    continue;
                }
                reply << "sample " << job.inputs[i].id << ' ' << r.cycles.total() << " - " << calls << ' '
                      << hex(sha256(r.value)) << ' ' << r.cycles.load << ' ' << r.cycles.compute << ' '
                      << r.cycles.store << '\n';
            }
        }
        reply << "done " << words[1] << '\n';
        return reply.str();
    }

    string counters(const std::vector<string>& words) {
        string reply = "counters";
        for (const Result& r : job_of(words[1]).results)
            for (std::size_t i = 0; i < binding::COUNTERS.size(); i++) {
                const bool known =
                    binding::COUNTS[i] && r.failure.empty() && !r.counted.empty() && r.miscounted[i].empty();
                reply += (i ? ',' : ' ') + (known ? std::to_string(r.counted[i]) : "-");
            }
        return reply + "\n";
    }

    string forget(const std::vector<string>& words) {
        job_of(words[1]);
        jobs_.erase(number(words[1]));
        return "done " + words[1] + "\n";
    }
};

}  // namespace

int main(int count, char** words) {
    bool stalls = true, resets = false;
    unsigned threads = std::max(1u, std::thread::hardware_concurrency());
    for (int i = 1; i < count; i++) {
        const string word = words[i], value = i + 1 < count ? words[i + 1] : "";
        if (word == "--resets") {
            resets = true;
        } else if (word == "--stalls" && (value == "none" || value == "random")) {
            stalls = value == "random";
            i++;
        } else if (word == "--threads" && std::atoi(value.c_str()) > 0) {
            threads = unsigned(std::atoi(value.c_str()));
            i++;
        } else {
            std::cerr << "usage: " << words[0] << " [--stalls none|random] [--resets] [--threads N]\n";
            return 2;
        }
    }
    std::ios::sync_with_stdio(false);
    return Worker(stalls, resets, threads).serve();
}
