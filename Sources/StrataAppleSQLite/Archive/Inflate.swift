import Foundation

/// Takes apart data that was packed by DEFLATE (RFC 1951), without a header, up to a limit.
struct Inflate {
  struct Fault: Error, CustomStringConvertible { let description: String }

  private let input: [UInt8]
  private var next = 0
  private var bits: UInt32 = 0
  private var bitCount: UInt32 = 0
  private var output: [UInt8] = []
  private let limit: Int

  private init(_ input: [UInt8], limit: Int) {
    self.input = input
    self.limit = limit
  }

  /// - Throws: `Inflate.Fault` for what is no such data, was cut off, or becomes longer than `limit`.
  static func data(_ packed: Data, limit: Int = 64 << 20) throws -> [UInt8] {
    var inflate = Inflate(Array(packed), limit: limit)
    try inflate.run()
    return inflate.output
  }

  private mutating func run() throws {
    var isLast = false
    while !isLast {
      isLast = try take(1) == 1
      switch try take(2) {
      case 0: try copyStored()
      case 1: try decode(Self.fixedLiterals, Self.fixedDistances)
      case 2:
        let (literals, distances) = try readCodes()
        try decode(literals, distances)
      default: throw Fault(description: "a block is of an unknown kind")
      }
    }
  }

  /// The next bits, the first one lowest; at most 16.
  private mutating func take(_ count: UInt32) throws -> Int {
    while bitCount < count {
      guard next < input.count else { throw Fault(description: "the data ends too early") }
      bits |= UInt32(input[next]) << bitCount
      next += 1
      bitCount += 8
    }
    let value = bits & ((1 << count) - 1)
    bits >>= count
    bitCount -= count
    return Int(value)
  }

  private mutating func append(_ byte: UInt8) throws {
    guard output.count < limit else { throw Fault(description: "it is longer than \(limit) bytes unpacked") }
    output.append(byte)
  }

  private mutating func copyStored() throws {
    // What is left of the byte that was begun does not count.
    (bits, bitCount) = (0, 0)
    guard next + 4 <= input.count else { throw Fault(description: "the data ends too early") }
    let length = Int(input[next]) | Int(input[next + 1]) << 8
    let check = Int(input[next + 2]) | Int(input[next + 3]) << 8
    next += 4
    guard length ^ 0xFFFF == check else { throw Fault(description: "the length of a block is damaged") }
    guard next + length <= input.count else { throw Fault(description: "the data ends too early") }
    guard output.count + length <= limit else {
      throw Fault(description: "it is longer than \(limit) bytes unpacked")
    }
    output += input[next..<next + length]
    next += length
  }

  private mutating func decode(_ literals: Codes, _ distances: Codes) throws {
    while true {
      let symbol = try symbol(literals)
      if symbol < 256 {
        try append(UInt8(symbol))
        continue
      }
      if symbol == 256 { return }
      guard symbol - 257 < Self.lengths.count else { throw Fault(description: "a length is none") }
      let (length, extra) = Self.lengths[symbol - 257]
      let count = length + (try take(extra))
      let code = try self.symbol(distances)
      guard code < Self.distances.count else { throw Fault(description: "a distance is none") }
      let (base, more) = Self.distances[code]
      let distance = base + (try take(more))
      guard distance <= output.count else {
        throw Fault(description: "a distance leads before the beginning")
      }
      for _ in 0..<count { try append(output[output.count - distance]) }
    }
  }

  private mutating func symbol(_ codes: Codes) throws -> Int {
    var (code, first, index) = (0, 0, 0)
    for length in 1...15 {
      code |= try take(1)
      let count = codes.counts[length]
      if code - count < first { return codes.symbols[index + (code - first)] }
      index += count
      first = (first + count) << 1
      code <<= 1
    }
    throw Fault(description: "a code is none")
  }

  /// Canonical codes: how many there are of each length, and what they stand for, in order.
  private struct Codes {
    var counts = [Int](repeating: 0, count: 16)
    var symbols: [Int] = []

    /// - Throws: `Fault` for lengths that are too many for codes of their kind.
    init(_ lengths: [Int]) throws {
      for length in lengths { counts[length] += 1 }
      counts[0] = 0
      var left = 1
      for length in 1...15 {
        left = left << 1 - counts[length]
        if left < 0 { throw Fault(description: "there are more codes than can be") }
      }
      for length in 1...15 {
        for (symbol, own) in lengths.enumerated() where own == length { symbols.append(symbol) }
      }
    }
  }

  private mutating func readCodes() throws -> (Codes, Codes) {
    let literalCount = try take(5) + 257
    let distanceCount = try take(5) + 1
    let ownCount = try take(4) + 4
    guard literalCount <= 286, distanceCount <= 30 else {
      throw Fault(description: "a block has too many codes")
    }
    var own = [Int](repeating: 0, count: 19)
    for place in 0..<ownCount { own[Self.order[place]] = try take(3) }
    let codes = try Codes(own)
    var lengths: [Int] = []
    while lengths.count < literalCount + distanceCount {
      switch try symbol(codes) {
      case let length where length < 16: lengths.append(length)
      case 16:
        guard let last = lengths.last else {
          throw Fault(description: "the first length repeats another one")
        }
        lengths += [Int](repeating: last, count: 3 + (try take(2)))
      case 17: lengths += [Int](repeating: 0, count: 3 + (try take(3)))
      default: lengths += [Int](repeating: 0, count: 11 + (try take(7)))
      }
    }
    guard lengths.count == literalCount + distanceCount, lengths[256] > 0 else {
      throw Fault(description: "the codes of a block do not fit")
    }
    return (try Codes(Array(lengths[..<literalCount])), try Codes(Array(lengths[literalCount...])))
  }

  private static let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

  /// By symbol from 257 on: the smallest length, and how many more bits tell the rest.
  private static let lengths: [(Int, UInt32)] = {
    var (list, base): ([(Int, UInt32)], Int) = ([], 3)
    for place in 0..<28 {
      let extra = UInt32(place < 8 ? 0 : (place - 4) / 4)
      list.append((base, extra))
      base += 1 << Int(extra)
    }
    return list + [(258, 0)]
  }()

  private static let distances: [(Int, UInt32)] = {
    var (list, base): ([(Int, UInt32)], Int) = ([], 1)
    for place in 0..<30 {
      let extra = UInt32(place < 4 ? 0 : (place - 2) / 2)
      list.append((base, extra))
      base += 1 << Int(extra)
    }
    return list
  }()

  // `try!`: the lengths are those of the specification (RFC 1951, 3.2.6), of which codes can be made.
  private static let fixedLiterals = try! Codes(
    (0..<288).map { $0 < 144 ? 8 : $0 < 256 ? 9 : $0 < 280 ? 7 : 8 })
  // `try!`: as above.
  private static let fixedDistances = try! Codes([Int](repeating: 5, count: 30))
}
