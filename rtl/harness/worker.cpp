// A core as a worker: workers/PROTOCOL.md over its model, with cycles of its clock as ticks. One request
// more, `counters JOB`, has one line in reply: `counters` and, of each input in order, joined by commas, what
// the core's own counters said when it was last performed, `-` for those that it lacks or if it failed.
//
//   mldsa-worker-core [--stalls none|random] [--resets] [--threads N]
//
// Answers are given under random stalls of every interface unless they are switched off, measurements
// without any; the lab compares the bytes of both. With --resets each operation to answer is first begun,
// and reset in a random cycle. Inputs of a request are shared among threads, each with a model of its own.
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "core.hpp"

namespace {

using std::string;

const char* const DIGITS = "0123456789abcdef";
const std::size_t CONTEXT_MAX = 255;

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

    Result perform(Core& core, const Job& job, const Input& input, bool answering) {
        static const Bytes accepted{1}, refused{0};
        const Operation operation = job.operation == "keygen" ? KEYGEN : job.operation == "sign" ? SIGN : VERIFY;
        const std::uint64_t seed = input.id * 0x9e3779b97f4a7c15ULL + std::uint64_t(operation);
        const bool stalled = answering && stalls_;
        Result result;
        const string reason = unfit(job, input);
        if (!reason.empty() && operation == VERIFY) {
            result.value = refused;
            return result;
        }
        if (!reason.empty()) return failed(reason);
        const bool loads = operation == SIGN && binding::PLANS[LOAD_KEY][job.set].known;
        if (answering && resets_) {
            std::mt19937_64 random(seed);
            const bool in_load = loads && random() % 4 == 0;
            const std::uint64_t stop = 1 + random() % (16ULL << random() % 13);
            if (loads && !in_load) core.perform(LOAD_KEY, job.set, input.fields, false, seed);
            core.perform(in_load ? LOAD_KEY : operation, job.set, input.fields, stalled, seed, stop);
        }
        if (loads && !(job.loaded && core.holds(job.set, input.fields))) {
            const Outcome load = core.perform(LOAD_KEY, job.set, input.fields, stalled, seed + 1);
            if (!load.fault.empty()) return failed("loading the key: " + load.fault);
            if (load.status != binding::OK) return failed("loading the key: " + binding::status(load.status));
            if (!job.loaded) result.cycles += load.cycles;
        }
        const Outcome found = core.perform(operation, job.set, input.fields, stalled, seed);
        if (!found.fault.empty()) return failed(found.fault);
        result.cycles += found.cycles;
        result.counted = found.counted;
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

    // All inputs, shared among the cores.
    const std::vector<Result>& perform_all(Job& job, bool answering, std::uint64_t calls) {
        std::vector<Result>& results = job.results;
        results.assign(job.inputs.size(), Result{});
        std::atomic<std::size_t> next{0};
        auto work = [&](Core& core) {
            for (std::size_t i; (i = next++) < job.inputs.size();) {
                Cycles cycles;
                for (std::uint64_t call = 0; call < calls; call++) {
                    results[i] = perform(core, job, job.inputs[i], answering);
                    cycles += results[i].cycles;
                }
                results[i].cycles = cycles;
            }
        };
        std::vector<std::thread> others;
        for (std::size_t i = 1; i < std::min(cores_.size(), job.inputs.size()); i++)
            others.emplace_back(work, std::ref(*cores_[i]));
        work(*cores_[0]);
        for (std::thread& other : others) other.join();
        return results;
    }

    string answer(const std::vector<string>& words) {
        Job& job = job_of(words[1]);
        const std::vector<Result>& results = perform_all(job, true, 1);
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
                const bool known = binding::COUNTS[i] && r.failure.empty() && !r.counted.empty();
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
