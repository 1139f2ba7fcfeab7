// SPDX-License-Identifier: Apache-2.0
//
// Articles of a slow database, cached for ten minutes: "Cache hit!" or "Cache miss, fetching from
// DB...". A write goes to the database first, then the cached article is deleted.
#include <holdfast/cache.hpp>
#include <holdfast/holdfast.hpp>

#include <iostream>
#include <map>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
    auto hf = holdfast::open(argc > 1 ? argv[1] : "memory:");
    if (!hf) return 1;
    std::map<std::string, std::string> database{{"42", "Redis is fast"}};
    int fetched = 0;

    holdfast::cache<std::string> articles(*hf, {.prefix = "news_article:", .fresh = 600s});
    const auto read = [&](const std::string& id) {
        const int before = fetched;
        auto article = articles.get(id, [&]() -> std::optional<std::string> {
            std::cout << "Cache miss, fetching from DB...\n";
            ++fetched;
            const auto found = database.find(id);
            if (found == database.end()) return std::nullopt;  // cached too, for a minute
            return found->second;
        });
        if (article && fetched == before) std::cout << "Cache hit!\n";
        return article ? article->value_or("no such article") : to_string(article.error());
    };
    if (!articles.invalidate("42") || !articles.invalidate("43")) return 1;

    std::cout << read("42") << '\n' << read("42") << '\n';
    std::cout << read("43") << '\n' << read("43") << '\n';
    if (fetched != 2) return 1;

    auto written = articles.update("42", [&]() -> holdfast::result<void> {
        database["42"] = "Redis is fast, and a cache is a promise";
        return {};
    });
    if (!written || *written != holdfast::update_outcome::deleted) return 1;
    std::cout << read("42") << '\n';
    return fetched == 3 ? 0 : 1;
}
