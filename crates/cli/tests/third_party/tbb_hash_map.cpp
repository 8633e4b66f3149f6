// tbb::concurrent_hash_map: three threads count words. An accessor holds its element locked: the plain increment is
// safe. With WRONG, the element is changed through a reference that outlives the accessor.
#include <tbb/concurrent_hash_map.h>
#include <cassert>
#include <string>
#include <thread>

typedef tbb::concurrent_hash_map<std::string, int> Map;

static void count(Map &map, const char *word) {
    Map::accessor element;
    map.insert(element, word);
#ifdef WRONG
    int &number = element->second;
    element.release();
    number++;
#else
    element->second++;
#endif
}

int main() {
    Map map;
    std::thread first([&] { count(map, "a"), count(map, "b"); });
    std::thread second([&] { count(map, "b"), count(map, "a"); });
    std::thread third([&] {
        count(map, "c");
        Map::const_accessor element;
        if (map.find(element, "a")) assert(element->second >= 0 && element->second <= 2);
        element.release();
        assert(map.erase("c"));
    });
    first.join();
    second.join();
    third.join();
    Map::const_accessor element;
    assert(map.size() == 2);
    assert(map.find(element, "a") && element->second == 2);
    assert(map.find(element, "b") && element->second == 2);
}
