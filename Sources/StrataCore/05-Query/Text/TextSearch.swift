import Foundation

/// Finds bytes in bytes, in time proportional to the sum of both lengths.
enum TextSearch {
  /// Where `part` first stands in `text`; nil when it does not. An empty part stands at the beginning: whether it counts is for callers to say.
  static func find(_ part: UnsafeRawBufferPointer, in text: UnsafeRawBufferPointer) -> Int? {
    guard let wanted = part.baseAddress, part.count > 0 else { return 0 }
    guard let start = text.baseAddress, text.count >= part.count else { return nil }
    let last = text.count - part.count
    // Jumps from one first byte to the next, which real texts have few of. Those made to be slow have many.
    var budget = 16 * text.count
    var place = 0
    while place <= last {
      guard let next = memchr(start + place, Int32(part[0]), last - place + 1) else { return nil }
      place = UnsafeRawPointer(next) - start
      if memcmp(start + place, wanted, part.count) == 0 { return place }
      place += 1
      budget -= part.count
      if budget < 0 { return findSteadily(part, in: text, from: place) }
    }
    return nil
  }

  static func find(_ part: [UInt8], in text: UnsafeRawBufferPointer) -> Int? {
    part.withUnsafeBytes { find($0, in: text) }
  }

  /// Looks at each byte once: the algorithm of Knuth, Morris and Pratt.
  private static func findSteadily(
    _ part: UnsafeRawBufferPointer, in text: UnsafeRawBufferPointer, from start: Int
  ) -> Int? {
    // For each length of what has matched, the longest shorter beginning of `part` that ends it.
    var shorter = [Int](repeating: 0, count: part.count + 1)
    var matched = 0
    for place in 1..<max(part.count, 1) {
      while matched > 0, part[place] != part[matched] { matched = shorter[matched] }
      if part[place] == part[matched] { matched += 1 }
      shorter[place + 1] = matched
    }
    matched = 0
    for place in start..<text.count {
      while matched > 0, text[place] != part[matched] { matched = shorter[matched] }
      if text[place] == part[matched] { matched += 1 }
      if matched == part.count { return place + 1 - part.count }
    }
    return nil
  }
}
