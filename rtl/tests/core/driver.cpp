// The core's model, driven by lines of text:
//   OP SET MU STALLS RESET PAUSE WAIT ZEROIZE ATTEMPTS PACKET...
//   -> STATUS CYCLES LOAD COMPUTE STORE ATTEMPTS Z R0 CT0 HINT PACKET...
//   state
//   -> the whole state of the model, in hexadecimal
// Packets are hexadecimal, `-` if empty; `:N` behind one sets in_bytes of its last word. STALLS: 0, or the
// seed of random stalls. RESET: 0, or the cycle in which the core is reset; the answer is `reset N`, the
// result words taken before. PAUSE: 0,
// or the number of the operand word before which nothing is offered for 20,000 cycles. WAIT: cycles before
// the command. ZEROIZE: 0, or the cycle in which the input `zeroize` is high; the answer is `zeroized N`, the
// cycles from there to the next cmd_ready. ATTEMPTS: 0, or the value that the counter of attempts is set to
// when the last operand word has been taken. Or `broken WHY`: a rule of the interface.
// The program's argument is the seed of the registers' first values.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "Vmldsa_core.h"
#include "verilated.h"
#include "../../harness/saved.hpp"

static std::unique_ptr<Vmldsa_core> model;

static void edge() {
    model->clk = 1;
    model->eval();
    model->clk = 0;
    model->eval();
}
static void quiet() {
    model->cmd_valid = model->in_valid = model->out_ready = model->rsp_ready = model->zeroize = 0;
}
static void reset() {
    quiet();
    model->rst = 1;
    edge();
    model->rst = 0;
}
static Bytes parse(const std::string& text) {
    Bytes bytes;
    for (std::size_t i = 0; text != "-" && i < text.size(); i += 2)
        bytes.push_back(std::stoi(text.substr(i, 2), nullptr, 16));
    return bytes;
}
static std::string hex(const Bytes& bytes) {
    std::string text;
    for (auto b : bytes) {
        text += "0123456789abcdef"[b >> 4];
        text += "0123456789abcdef"[b & 15];
    }
    return text;
}

static std::string state() {
    quiet();
    model->cmd_op = model->cmd_set = model->cmd_mu = 0;
    model->in_data = model->in_last = model->in_bytes = 0;
    model->eval();
    Saved saved;
    saved << *model;
    saved.flush();
    return hex(saved.bytes);
}

struct Packet {
    Bytes bytes;
    int last_bytes;  // in_bytes of its last word; below 0: as many as it has
};

static std::string perform(std::istringstream line) {
    unsigned op, set, mu, stalls, reset_at, pause, wait, zeroize_at, attempts;
    line >> op >> set >> mu >> stalls >> reset_at >> pause >> wait >> zeroize_at >> attempts;
    std::vector<Packet> in;
    std::vector<Bytes> out(1);
    for (std::string packet; line >> packet;) {
        const std::size_t colon = packet.find(':');
        in.push_back({parse(packet.substr(0, colon)),
                      colon == std::string::npos ? -1 : std::stoi(packet.substr(colon + 1))});
    }
    std::mt19937 random(stalls);
    auto go = [&] { return stalls == 0 || random() % 3 != 0; };
    std::size_t packet = 0, word = 0;
    bool asked = false, offered = false;
    std::uint64_t held = 0;
    unsigned words_taken = 0, words_given = 0, silent = 20000, since = 0;
    for (unsigned cycle = 1; cycle < 2000000; cycle++) {
        if (cycle == reset_at) {
            reset();
            return "reset " + std::to_string(words_given);
        }
        if (cycle == zeroize_at) {
            quiet();
            model->zeroize = 1;
            edge();
            model->zeroize = 0;
            model->eval();
            unsigned count = 1;
            for (; !model->cmd_ready && count < 10000; count++) {
                if (model->out_valid || model->rsp_valid || model->in_ready) return "broken: not quiet";
                edge();
            }
            return "zeroized " + std::to_string(count);
        }
        model->cmd_valid = !asked && cycle > wait;
        model->cmd_op = op;
        model->cmd_set = set;
        model->cmd_mu = mu;
        const bool paused = pause != 0 && words_taken == pause && silent-- > 0;
        if (!model->in_valid && packet < in.size() && !paused && go()) {
            const Bytes& bytes = in[packet].bytes;
            const std::size_t words = bytes.empty() ? 1 : (bytes.size() + 7) / 8;
            // What lies behind the last byte must not matter.
            std::uint64_t data = (std::uint64_t(random()) << 32) | random();
            for (std::size_t i = 8 * word; i < 8 * word + 8 && i < bytes.size(); i++) {
                data &= ~(0xffULL << 8 * (i % 8));
                data |= std::uint64_t(bytes[i]) << 8 * (i % 8);
            }
            model->in_valid = 1;
            model->in_data = data;
            model->in_last = word == words - 1;
            model->in_bytes = !model->in_last           ? random() % 16
                              : in[packet].last_bytes < 0 ? bytes.size() - 8 * word
                                                          : in[packet].last_bytes;
        }
        model->out_ready = go();
        model->rsp_ready = go();
        model->eval();
        if (!model->out_valid && (model->out_data || model->out_last || model->out_bytes))
            return "broken: a word shows before it is offered";
        if (offered && (!model->out_valid || model->out_data != held))
            return "broken: a word was withdrawn";
        offered = model->out_valid && !model->out_ready;
        held = model->out_data;
        const bool taken = model->in_valid && model->in_ready;
        if (model->cmd_valid && model->cmd_ready) {
            asked = true;
            since = cycle;
        }
        if (model->out_valid && model->out_ready) {
            words_given++;
            for (int i = 0; i < (model->out_last ? model->out_bytes : 8); i++)
                out.back().push_back(model->out_data >> 8 * i);
            if (model->out_last) out.emplace_back();
        }
        const bool ended = model->rsp_valid && model->rsp_ready;
        std::ostringstream answer;
        answer << unsigned(model->rsp_status) << ' ' << cycle - since + 1 << ' ' << model->cnt_load << ' '
               << model->cnt_compute << ' ' << model->cnt_store << ' ' << model->cnt_attempts << ' '
               << model->cnt_rej_z << ' ' << model->cnt_rej_r0 << ' ' << model->cnt_rej_ct0 << ' '
               << model->cnt_rej_hint;
        edge();
        if (taken) {
            model->in_valid = 0;
            words_taken++;
            word++;
            if (model->in_last) {
                word = 0;
                packet++;
                if (packet == in.size() && attempts != 0) model->cnt_attempts = attempts;
            }
        }
        if (ended) {
            model->rsp_ready = 0;
            if (packet != in.size()) return "broken: operands are left";
            if (!out.back().empty()) return "broken: a result without its last word";
            for (const Bytes& bytes : out) answer << ' ' << hex(bytes);
            return answer.str();
        }
    }
    return "broken: no end";
}

int main(int count, char** arguments) {
    if (count > 1) {
        Verilated::threadContextp()->randReset(2);
        Verilated::threadContextp()->randSeed(std::atoi(arguments[1]));
    }
    model = std::make_unique<Vmldsa_core>();
    model->clk = 0;
    model->eval();
    reset();
    for (std::string line; std::getline(std::cin, line);)
        std::cout << (line == "state" ? state() : perform(std::istringstream(line))) << std::endl;
}
