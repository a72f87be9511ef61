// All that Verilator saves of a model, which is every register and memory.
#pragma once

#include "hash.hpp"
#include "verilated_save.h"

class Saved : public VerilatedSerialize {
public:
    Saved() { m_isOpen = true; }
    ~Saved() override { m_isOpen = false; }
    void close() override {}
    void flush() override {
        bytes.insert(bytes.end(), m_bufp, m_cp);
        m_cp = m_bufp;
    }
    Bytes bytes;
};
