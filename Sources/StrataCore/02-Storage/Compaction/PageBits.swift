/// A set of the pages of a file: one bit each.
struct PageBits {
  private var words: [UInt64]
  /// How many pages there are; all members are below.
  let count: Int
  /// Below this word there is no member.
  private var firstWord = 0

  init(count: Int) {
    self.count = count
    words = [UInt64](repeating: 0, count: count / 64 + 1)
  }

  mutating func insert(_ page: Int) {
    words[page >> 6] |= 1 << UInt64(page & 63)
    firstWord = min(firstWord, page >> 6)
  }

  mutating func remove(_ page: Int) { words[page >> 6] &= ~(1 << UInt64(page & 63)) }

  func contains(_ page: Int) -> Bool { words[page >> 6] & 1 << UInt64(page & 63) != 0 }

  /// Where the members at the end begin: all pages from there on are in the set.
  var endWithoutTail: Int {
    var end = count
    while end > 0, contains(end - 1) { end -= 1 }
    return end
  }

  /// How many members are below `end`.
  func count(below end: Int) -> Int {
    var count = words[..<(end >> 6)].reduce(0) { $0 + $1.nonzeroBitCount }
    if end & 63 != 0 { count += (words[end >> 6] & (1 << UInt64(end & 63) - 1)).nonzeroBitCount }
    return count
  }

  /// The members below `end`, in ascending order.
  func members(below end: Int) -> [UInt64] {
    var members: [UInt64] = []
    members.reserveCapacity(count(below: end))
    for index in 0..<(end + 63) >> 6 {
      var word = words[index]
      while word != 0 {
        let page = index << 6 + word.trailingZeroBitCount
        if page >= end { return members }
        members.append(UInt64(page))
        word &= word - 1
      }
    }
    return members
  }

  /// Takes the first `size` members side by side out of the set; nil when there are none.
  mutating func take(_ size: Int) -> Int? {
    var start = 0
    return take(size, endingBy: count, from: &start)
  }

  /// The same for members from `start` on that end at `limit` or before. `start` becomes where the next ones may begin: as long as nothing is inserted, who looks for the same
  /// size again need not look at what lies before.
  mutating func take(_ size: Int, endingBy limit: Int, from start: inout Int) -> Int? {
    let limit = min(limit, count)
    while firstWord < words.count, words[firstWord] == 0 { firstWord += 1 }
    var page = max(start, firstWord << 6)
    var length = 0
    defer { start = max(start, page - length) }
    while page < limit {
      if page & 63 == 0, length == 0, words[page >> 6] == 0 {
        page += 64
        continue
      }
      length = contains(page) ? length + 1 : 0
      page += 1
      if length == size {
        for taken in page - size..<page { remove(taken) }
        length = 0
        return page - size
      }
    }
    return nil
  }
}
