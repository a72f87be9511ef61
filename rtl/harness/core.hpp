// A core: its model, driven cycle by cycle through one operation at a time.
#pragma once
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <random>

#include "binding.hpp"
#include "hash.hpp"
#include "shape.hpp"

#ifdef CORE_IS_SAVED  // by binding.hpp
#include "saved.hpp"
#endif

// What an operation is handed, and what it gives.
struct Fields {
    Bytes seed, sk, pk, message, context, rnd, signature;
};
struct Cycles {
    std::uint64_t load = 0, compute = 0, store = 0;
    std::uint64_t total() const { return load + compute + store; }
    void operator+=(const Cycles& other) {
        load += other.load;
        compute += other.compute;
        store += other.store;
    }
};
struct Outcome {
    std::string fault;      // empty where it ended as it should
    bool whole = false;     // it went through to its end
    bool unread = false;    // it ended before it took all operands
    std::uint64_t status = 0;
    Bytes pk, sk, signature;
    std::uint64_t verdict = 0;
    Cycles cycles;
    std::vector<std::uint64_t> counted;    // by the core itself, in the order of binding::COUNTERS
    std::vector<std::string> miscounted;  // of each counter what is wrong with it, or nothing
    bool endless = false;                 // it reached the limit
};

// A line that the lab shows while it waits for the reply.
inline void note(const std::string& text) { std::cerr << "note " + text + "\n" << std::flush; }

// Whether an interface goes on in a cycle: always, or at random, with a chance that changes from time
// to time, so that there are stretches without a stall and long ones with hardly anything else.
class Stalls {
public:
    Stalls(bool on, std::uint64_t seed) : on_(on), random_(seed) {}
    bool go() {
        if (!on_) return true;
        if (left_-- == 0) {
            left_ = random_() % 200;
            chance_ = random_() % 5;
        }
        return chance_ == 4 || random_() % 10 < 2 * chance_ + 1;
    }

private:
    bool on_;
    std::mt19937_64 random_;
    std::uint64_t left_ = 0, chance_ = 4;
};

const char* const NAMES[] = {"key generation", "loading the key", "signing", "verification", "zeroization"};

// Notes how long an operation without an end is waited for: after 20 seconds or half of the limit, then
// every thirty seconds.
class Patience {
public:
    Patience(const char* name, std::uint64_t limit) : name_(name), limit_(limit) {}
    void look(std::uint64_t cycle) {
        if (cycle == limit_ / 2) due_ = std::min(due_, 0.0);
        else if (cycle % 4096 != 0) return;
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
        if (seconds < due_) return;
        due_ = seconds + 30;
        const double left = seconds / double(cycle) * double(limit_ - cycle);
        note(std::string(name_) + ": no end yet after " + std::to_string(cycle) + " cycles; waits for " +
             std::to_string(limit_) + " (the manifest's limit), about " + std::to_string(long(left) + 1) + " s more");
    }

private:
    const char* name_;
    std::uint64_t limit_;
    double due_ = 20;
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

class Core {
public:
    explicit Core(std::uint64_t seed) : seed_(seed) { fresh(); }
    ~Core() {
        if (model_) model_->final();
    }

    // Performs an operation. `stop`: where it is not 0, the core is reset in the cycle of this number.
    Outcome perform(Operation operation, int set, const Fields& fields, bool stalled, std::uint64_t seed,
                    std::uint64_t stop = 0) {
        if (dirty_) restart();
        const Bytes key = operation == LOAD_KEY ? mark(set, fields) : operation == SIGN ? loaded_ : Bytes{};
        loaded_.clear();
        Outcome found = run(operation, set, fields, stalled, seed, stop);
        dirty_ = !found.fault.empty() || found.unread || !binding::COMPLETE_RESET;
        if (found.whole && found.status == binding::OK) loaded_ = key;
        return found;
    }

    // Resets the core; begins a new model where its reset is not complete.
    void restart() { binding::COMPLETE_RESET ? reset() : fresh(); }

    // Performs the zeroization of the manifest and returns its fault, if any.
    std::string zeroize(int set) {
        loaded_.clear();
        std::string fault;
        if (binding::ZEROIZE_COMMAND) {
            if (dirty_) restart();
            const Outcome found = run(ZEROIZE, set, Fields{}, false, 0, 0);
            fault = found.fault.empty() && found.status != binding::OK ? binding::status(found.status) : found.fault;
        } else {
            binding::idle(*model_);
            binding::select(*model_, ZEROIZE, set);
            pass(binding::ZEROIZE_CYCLES);
        }
        binding::idle(*model_);
        pass(binding::ZEROIZE_WAIT);
        dirty_ = !fault.empty();
        return fault;
    }

#ifdef CORE_IS_SAVED
    // The whole state after zeroization, of a model that began with the same values in each call and performed
    // these operations before.
    Bytes state_after_zeroizing(const std::vector<Operation>& operations, int set, const Fields& fields) {
        fresh(1);
        for (Operation operation : operations) perform(operation, set, fields, false, 0);
        zeroize(set);
        binding::select(*model_, ZEROIZE, set);
        binding::idle(*model_);
        settle();
        Saved saved;
        saved << *model_;
        saved.flush();
        fresh();
        return saved.bytes;
    }
#endif

    // Whether this key is loaded: signing keeps it, every other operation may drop it.
    bool holds(int set, const Fields& fields) const { return !dirty_ && loaded_ == mark(set, fields); }

private:
    static Bytes mark(int set, const Fields& fields) {
        Bytes whole(1, std::uint8_t(set));
        whole.insert(whole.end(), fields.sk.begin(), fields.sk.end());
        whole.insert(whole.end(), fields.seed.begin(), fields.seed.end());
        return whole;
    }

    // A new model, whose registers begin with random values: what the reset forgets shows. `power_up`
    // may say that they begin with 0, as in an FPGA.
    void fresh() { fresh(seed_++); }
    void fresh(std::uint64_t seed) {
        if (model_) model_->final();
        model_.reset();
        context_ = std::make_unique<VerilatedContext>();
        context_->randReset(binding::RANDOM_POWER_UP ? 2 : 0);
        context_->randSeed(int(seed % 0x7fffffff) + 1);
        model_ = std::make_unique<binding::Model>(context_.get(), "core");
        reset();
    }

    void reset() {
        binding::idle(*model_);
        binding::reset(*model_, true);
        pass(binding::RESET_CYCLES);
        binding::reset(*model_, false);
        dirty_ = false;
        loaded_.clear();
    }

    void settle() {
        binding::clock(*model_, false);
        model_->eval();
    }
    void pass(std::uint64_t cycles) {
        for (std::uint64_t i = 0; i < cycles; i++) {
            settle();
            tick();
        }
    }
    void tick() {
        context_->timeInc(1);
        binding::clock(*model_, true);
        model_->eval();
        context_->timeInc(1);
    }

    static Bytes with_prefix(const Fields& f) {
        Bytes whole{0, std::uint8_t(f.context.size())};
        whole.insert(whole.end(), f.context.begin(), f.context.end());
        whole.insert(whole.end(), f.message.begin(), f.message.end());
        return whole;
    }
    // FIPS 204 hashes tr and M', round 3 tr and the message; a verifier makes tr of pk.
    static Bytes mu(Operation operation, int set, const Fields& f) {
        std::size_t size = binding::SIZES[set].tr;
        Bytes whole = operation == VERIFY ? shake256(f.pk, size) : Bytes(size);
        if (operation != VERIFY && f.sk.size() >= 64 + size) std::copy_n(f.sk.begin() + 64, size, whole.begin());
        const Bytes rest = binding::ROUND_3 ? f.message : with_prefix(f);
        whole.insert(whole.end(), rest.begin(), rest.end());
        return shake256(whole, 64);
    }
    static Bytes number(std::uint64_t value) {
        Bytes word;
        const unsigned size = binding::INPUT.bytes;
        for (unsigned i = 0; i < size; i++) {
            unsigned at = binding::INPUT.big ? size - 1 - i : i;
            word.push_back(at < 8 ? std::uint8_t(value >> (8 * at)) : std::uint8_t(0));
        }
        return word;
    }
    static Bytes bytes_of(const Part& part, Operation operation, int set, const Fields& f) {
        Bytes whole;
        switch (part.source) {
            case Source::literal: return number(part.value);
            case Source::message_bytes: return number(f.message.size());
            case Source::context_bytes: return number(f.context.size());
            case Source::m_prime_bytes: return number(f.message.size() + f.context.size() + 2);
            case Source::seed: whole = f.seed; break;
            case Source::rnd: whole = f.rnd; break;
            case Source::sk: whole = f.sk; break;
            case Source::pk: whole = f.pk; break;
            case Source::signature: whole = f.signature; break;
            case Source::message: whole = f.message; break;
            case Source::context: whole = f.context; break;
            case Source::m_prime: whole = with_prefix(f); break;
            case Source::mu: whole = mu(operation, set, f); break;
            case Source::rho:
            case Source::verdict: break;
        }
        if (part.whole) return whole;
        whole.resize(std::max(whole.size(), part.offset + part.size));
        return Bytes(whole.begin() + part.offset, whole.begin() + part.offset + part.size);
    }

    // The operands as words, each part on whole ones.
    static std::vector<Word> words_of(const Plan& plan, Operation operation, int set, const Fields& fields) {
        std::vector<Word> words;
        const Stream stream = binding::INPUT;
        for (const Part& part : plan.load) {
            const Bytes data = bytes_of(part, operation, set, fields);
            const bool empty = data.empty() && stream.packet == Packet::part;  // a word with nothing in it
            for (std::size_t at = 0; at < data.size() || (empty && at == 0); at += stream.bytes) {
                Word word{};
                word.bytes = unsigned(std::min<std::size_t>(stream.bytes, data.size() - at));
                std::copy_n(data.begin() + at, word.bytes, word.data);
                word.last = stream.packet == Packet::part && at + stream.bytes >= data.size();
                words.push_back(word);
            }
        }
        if (stream.packet == Packet::all && !words.empty()) words.back().last = true;
        return words;
    }

    static void put_part(const Part& part, const Bytes& data, Bytes& to) {
        to.resize(std::max(to.size(), part.offset + part.size));
        std::copy(data.begin(), data.end(), to.begin() + part.offset);
    }

    // Takes a word of the results; what is wrong with it, if anything.
    std::string keep_result(const Plan& plan, const Word& word, std::size_t& place, Bytes& so_far, Outcome& found) {
        if (place == plan.store.size()) return "more result words than the manifest says";
        const Stream stream = binding::OUTPUT;
        const Part& part = plan.store[place];
        const std::size_t size = part.source == Source::verdict ? stream.bytes : part.size;
        const std::size_t due = std::min<std::size_t>(stream.bytes, size - so_far.size());
        const bool ends = so_far.size() + due == size;
        const std::string where = "result " + std::to_string(place + 1) + ", byte " + std::to_string(so_far.size());
        if (stream.packet != Packet::none) {
            const bool last = ends && (stream.packet == Packet::part || place + 1 == plan.store.size());
            if (word.last != last) return where + (last ? ": last is missing" : ": last is too early");
        }
        if (stream.counts && word.bytes != due)
            return where + ": a word of " + std::to_string(word.bytes) + " bytes, not " + std::to_string(due);
        so_far.insert(so_far.end(), word.data, word.data + due);
        if (!ends) return "";
        if (part.source == Source::verdict) {
            for (std::size_t i = 0; i < due && i < 8; i++)
                found.verdict |= std::uint64_t(so_far[stream.big ? due - 1 - i : i]) << (8 * i);
        } else {
            const bool rho = part.source == Source::rho;
            if (rho || part.source == Source::pk) put_part(part, so_far, found.pk);
            if (rho || part.source == Source::sk) put_part(part, so_far, found.sk);
            if (part.source == Source::signature) put_part(part, so_far, found.signature);
        }
        so_far.clear();
        place++;
        return "";
    }

    Outcome run(Operation operation, int set, const Fields& fields, bool stalled, std::uint64_t seed,
                std::uint64_t stop) {
        const Plan& plan = binding::PLANS[operation][set];
        const std::vector<Word> words = words_of(plan, operation, set, fields);
        const std::uint64_t limit = binding::LIMIT + 64 * words.size();
        const bool late = stalled && binding::INPUT.stalls;
        Stalls commands(late, seed), in(late, seed + 1);
        Stalls out(stalled && binding::OUTPUT.stalls, seed + 2), ends(stalled && binding::RESPONSE_WAITS, seed + 3);
        binding::Model& m = *model_;
        Outcome found;
        Bytes so_far;
        std::optional<Word> waiting;  // offered in the last cycle, and not taken
        std::size_t next = 0, place = 0;
        bool commanded = !binding::HAS_COMMAND, asking = false, offering = false;
        std::uint64_t loaded = 0, first = 0, stored = 0, cycle = 0;
        const bool by_response = binding::HAS_RESPONSE;
        // A valid that is high before the operation begins is left from the one before. Without `ready` it may be a
        // level: then it counts again once it was low.
        bool begun = commanded && words.empty(), old_response = false, old_result = false;
        Patience patience(NAMES[operation], limit);
        for (bool ended = false; !ended;) {
            if (++cycle > limit) {
                found.endless = true;
                found.fault = "no end after " + std::to_string(limit) + " cycles, the manifest's limit";
                if (old_response) found.fault += ": the response's valid is high since the operation before";
                if (old_result) found.fault += ": the results' valid is high since the operation before";
                return found;
            }
            patience.look(cycle);
            if (cycle == stop) {
                reset();
                return found;
            }
            // What was offered stays until it is taken; a command without ready is a pulse.
            asking = !commanded && (asking || commands.go());
            offering = commanded && next < words.size() && (offering || in.go());
            const bool taking = out.go(), hearing = ends.go();
            binding::select(m, operation, set);
            binding::command(m, asking);
            binding::offer(m, offering, next < words.size() ? words[next] : Word{});
            binding::accept(m, taking);
            binding::hear(m, hearing);
            settle();
            const bool was_begun = begun;
            if (offering && binding::taken(m)) {
                begun = true;
                next++;
                offering = false;
                if (next == words.size()) loaded = cycle;
            }
            if (asking && binding::commanded(m)) {
                begun = commanded = true;
                asking = false;
                if (words.empty()) loaded = cycle;
            }
            Word word{};
            bool offered = binding::offered(m, word);
            if (offered && !was_begun) {
                if (binding::OUTPUT_WAITS) found.fault = "a result word is there before the operation begins";
                old_result = true;
            }
            old_result = old_result && offered;
            offered = offered && !old_result;
            if (binding::OUTPUT.steady && waiting && !(offered && word == *waiting))
                found.fault = "a result word was withdrawn or changed before it was taken";
            waiting.reset();
            if (offered) {
                if (!first) first = cycle;
                if (taking) {
                    const std::string wrong = keep_result(plan, word, place, so_far, found);
                    if (found.fault.empty()) found.fault = wrong;
                    stored = cycle;
                } else {
                    waiting = word;
                }
            }
            if (by_response) {
                bool answered = binding::answered(m, found.status);
                if (answered && !was_begun) {
                    if (binding::RESPONSE_WAITS) found.fault = "a response is there before the operation begins";
                    old_response = true;
                }
                old_response = old_response && answered;
                answered = answered && !old_response;
                ended = answered && hearing;
                if (ended && found.status == binding::OK && place < plan.store.size())
                    found.fault = "it ended without result " + std::to_string(place + 1);
            } else {
                ended = commanded && next == words.size() && place == plan.store.size();
            }
            if (ended) binding::count(m, found.counted);
            tick();
            if (context_->gotFinish()) found.fault = "the core called $finish";
            if (!found.fault.empty()) return found;
        }
        found.whole = true;
        found.unread = next < words.size();
        found.cycles.load = loaded ? loaded : cycle;
        const std::uint64_t before = std::max(first - 1, found.cycles.load);
        if (stored > before) found.cycles.store = stored - before;
        found.cycles.compute = cycle - found.cycles.load - found.cycles.store;
        found.miscounted.resize(binding::COUNTERS.size());
        if (!stalled) compare_counters(found);
        return found;
    }

    // The core's own counters of phases against the harness's; they may leave out the cycles of a handshake.
    static void compare_counters(Outcome& found) {
        const std::uint64_t slack = 4, ours[] = {found.cycles.load, found.cycles.compute, found.cycles.store};
        for (std::size_t i = 0; i < 3; i++)
            if (binding::COUNTS[i] && (found.counted[i] > ours[i] + slack || ours[i] > found.counted[i] + slack))
                found.miscounted[i] = "its counter of " + binding::COUNTERS[i] + " says " +
                                      std::to_string(found.counted[i]) + ", and it took " + std::to_string(ours[i]) +
                                      " cycles";
    }

    std::unique_ptr<VerilatedContext> context_;
    std::unique_ptr<binding::Model> model_;
    std::uint64_t seed_;
    bool dirty_ = false;
    Bytes loaded_;
};
