// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <termios.h>

#include <string>
#include <vector>

/// A terminal that is drawn anew again and again, and is left as it was found.
namespace holdfast::app {

class live_screen {
public:
    /// Takes the terminal's second screen, hides the cursor, and reads keys one by one.
    live_screen();
    live_screen(const live_screen&) = delete;
    live_screen& operator=(const live_screen&) = delete;
    ~live_screen() { leave(); }

    /// Draws over what was there; no flicker, because nothing is cleared before it is written.
    void show(const std::vector<std::string>& lines) const;

    /// Gives the terminal back, for a stop; enter() takes it again.
    void leave();
    void enter();

private:
    termios before_{};
    bool reads_keys_ = false;
    bool entered_ = false;
};

}  // namespace holdfast::app
