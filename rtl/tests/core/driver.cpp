// The core's model, driven by lines of text:
//   OP SET MU STALLS RESET PAUSE PACKET...
//   -> STATUS LOAD COMPUTE STORE ATTEMPTS Z R0 CT0 HINT PACKET...
// Packets are hexadecimal, `-` if empty. STALLS: 0, or the seed of random stalls. RESET: 0, or the
// cycle in which the core is reset; the answer is `reset`. PAUSE: 0, or the number of the operand
// word before which nothing is offered for 20,000 cycles. Or `broken WHY`: a rule of the interface.
#include <cstdint>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "Vmldsa_core.h"
#include "verilated.h"

using Bytes = std::vector<std::uint8_t>;
static Vmldsa_core core;

static void edge() {
    core.clk = 1;
    core.eval();
    core.clk = 0;
    core.eval();
}
static void reset() {
    core.cmd_valid = core.in_valid = core.out_ready = core.rsp_ready = 0;
    core.rst = 1;
    edge();
    core.rst = 0;
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

static std::string perform(std::istringstream line) {
    unsigned op, set, mu, stalls, reset_at, pause;
    line >> op >> set >> mu >> stalls >> reset_at >> pause;
    std::vector<Bytes> in, out(1);
    for (std::string packet; line >> packet;) in.push_back(parse(packet));
    std::mt19937 random(stalls);
    auto go = [&] { return stalls == 0 || random() % 3 != 0; };
    std::size_t packet = 0, word = 0;
    bool asked = false, offered = false;
    std::uint64_t held = 0;
    unsigned words_taken = 0, silent = 20000;
    for (unsigned cycle = 1; cycle < 2000000; cycle++) {
        if (cycle == reset_at) {
            reset();
            return "reset";
        }
        core.cmd_valid = !asked;
        core.cmd_op = op;
        core.cmd_set = set;
        core.cmd_mu = mu;
        const bool paused = pause != 0 && words_taken == pause && silent-- > 0;
        if (!core.in_valid && packet < in.size() && !paused && go()) {
            const Bytes& bytes = in[packet];
            const std::size_t words = bytes.empty() ? 1 : (bytes.size() + 7) / 8;
            // What lies behind the last byte must not matter.
            std::uint64_t data = (std::uint64_t(random()) << 32) | random();
            for (std::size_t i = 8 * word; i < 8 * word + 8 && i < bytes.size(); i++) {
                data &= ~(0xffULL << 8 * (i % 8));
                data |= std::uint64_t(bytes[i]) << 8 * (i % 8);
            }
            core.in_valid = 1;
            core.in_data = data;
            core.in_last = word == words - 1;
            core.in_bytes = core.in_last ? bytes.size() - 8 * word : random() % 16;
        }
        core.out_ready = go();
        core.rsp_ready = go();
        core.eval();
        if (offered && (!core.out_valid || core.out_data != held))
            return "broken: a word was withdrawn";
        offered = core.out_valid && !core.out_ready;
        held = core.out_data;
        const bool taken = core.in_valid && core.in_ready;
        asked = asked || core.cmd_ready;
        if (core.out_valid && core.out_ready) {
            for (int i = 0; i < (core.out_last ? core.out_bytes : 8); i++)
                out.back().push_back(core.out_data >> 8 * i);
            if (core.out_last) out.emplace_back();
        }
        const bool ended = core.rsp_valid && core.rsp_ready;
        std::ostringstream answer;
        answer << unsigned(core.rsp_status) << ' ' << core.cnt_load << ' '
               << core.cnt_compute << ' ' << core.cnt_store << ' ' << core.cnt_attempts << ' ' << core.cnt_rej_z << ' '
               << core.cnt_rej_r0 << ' ' << core.cnt_rej_ct0 << ' ' << core.cnt_rej_hint;
        edge();
        if (taken) {
            core.in_valid = 0;
            words_taken++;
            word++;
            if (core.in_last) {
                word = 0;
                packet++;
            }
        }
        if (ended) {
            core.rsp_ready = 0;
            if (packet != in.size()) return "broken: operands are left";
            if (!out.back().empty()) return "broken: a result without its last word";
            for (const Bytes& bytes : out) answer << ' ' << hex(bytes);
            return answer.str();
        }
    }
    return "broken: no end";
}

int main() {
    core.clk = 0;
    reset();
    for (std::string line; std::getline(std::cin, line);)
        std::cout << perform(std::istringstream(line)) << std::endl;
}
