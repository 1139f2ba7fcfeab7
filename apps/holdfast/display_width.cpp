// SPDX-License-Identifier: Apache-2.0
#include "display_width.hpp"

#include "core/utf8_text.hpp"

#include <locale.h>
#include <wchar.h>

#include <algorithm>

namespace holdfast::app {
namespace {

/// The C library's tables of Unicode for this thread, as long as it lives.
class unicode_here {
public:
    unicode_here() : before_(::uselocale(tables())) {}
    unicode_here(const unicode_here&) = delete;
    unicode_here& operator=(const unicode_here&) = delete;
    ~unicode_here() { ::uselocale(before_); }

private:
    // Where the system has none, the usual locale knows ASCII alone.
    static locale_t tables() {
        static const locale_t made = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
        return made;
    }

    locale_t before_;
};

int width_of(char32_t character) {
    const int known = ::wcwidth(static_cast<wchar_t>(character));
    return known < 0 ? 1 : known;
}

}  // namespace

int columns(std::string_view text) {
    const unicode_here tables;
    int taken = 0;
    while (!text.empty()) taken += width_of(detail::take_character(text));
    return taken;
}

std::string fit(std::string_view text, int width) {
    if (width <= 0) return "";
    const int whole = columns(text);
    const auto blanks = [](int count) { return std::string(static_cast<std::size_t>(count), ' '); };
    if (whole <= width) return std::string(text) + blanks(width - whole);
    const unicode_here tables;
    std::string_view rest = text;
    int taken = 0;
    std::size_t kept = 0;
    while (!rest.empty()) {
        const int next = width_of(detail::take_character(rest));
        if (taken + next > width - 1) break;
        taken += next;
        kept = text.size() - rest.size();
    }
    return std::string(text.substr(0, kept)) + "…" + blanks(width - 1 - taken);
}

std::string wrapped(std::string_view text, int width, int indent) {
    std::string out;
    int used = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        const std::string_view word = text.substr(0, end);
        const int wide = columns(word);
        if (used > 0 && used + 1 + wide > width) {
            out.append("\n").append(static_cast<std::size_t>(indent), ' ');
            used = 0;
        } else if (used > 0) {
            out += ' ';
            ++used;
        }
        out += word;
        used += wide;
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

std::string repeated(std::string_view text, int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += text;
    return out;
}

}  // namespace holdfast::app
