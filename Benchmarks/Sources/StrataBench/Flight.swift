import Foundation

/// One row of the benchmark: ten attributes, five of them strings, one of those 70 bytes.
///
/// `location` takes 1,000 values and `departure` any second of one year, in no order: these two are indexed.
struct Flight {
  /// Position in the data set, so that every peer can find "the n-th row" by an attribute.
  var number: Int64
  var distance: Int64
  var delay: Double
  var airTime: Double
  var departure: Date
  var carrier: String
  var tail: String
  /// At most 8 bytes of ASCII: the hand-packed peer keeps it in a fixed-width index key.
  var location: String
  var destination: String
  /// Exactly 70 bytes.
  var remark: String
}

extension Flight {
  /// The same rows for the same count, on every machine and in every process.
  static func make(count: Int) -> [Flight] {
    var random = SplitMix64(state: 0x5374_7261_7461)
    let padding = String(repeating: "in time, as filed, no remarks; ", count: 3)
    return (0..<count).map { position in
      let remark = "\(random.next() % 1_000_000_000_000) \(padding)"
      return Flight(
        number: Int64(position),
        distance: Int64(random.next() % 5_000),
        delay: Double(Int64(random.next() % 4_000) - 1_000) / 8,
        airTime: Double(random.next() % 60_000) / 60,
        departure: Date(timeIntervalSinceReferenceDate: 378_691_200 + Double(random.next() % 31_536_000)),
        carrier: ["AA", "B6", "DL", "UA", "WN"][Int(random.next() % 5)],
        tail: "N\(10_000 + random.next() % 90_000)",
        location: "L\(100_000 + random.next() % 1_000)",
        destination: "gate \(random.next() % 300)",
        remark: String(decoding: remark.utf8.prefix(70), as: UTF8.self))
    }
  }

  /// Distinct positions in random order: which rows the by-ID benchmark reads.
  static func positions(count: Int, of total: Int) -> [Int] {
    var random = SplitMix64(state: 0x4944_7321)
    return Array((0..<total).shuffled(using: &random).prefix(count))
  }
}

/// What reading every attribute of some rows adds up to: cheap enough for the timed loop, and different
/// when a row is missing, doubled or decoded wrongly.
struct Touch: Equatable {
  var rows = 0
  var integers: Int64 = 0
  var bits: UInt64 = 0
  var characters = 0

  @inline(__always)
  mutating func add(
    number: Int64, distance: Int64, delay: Double, airTime: Double, departure: Date,
    carrier: String, tail: String, location: String, destination: String, remark: String
  ) {
    rows += 1
    integers &+= number &+ distance
    bits &+= delay.bitPattern &+ airTime.bitPattern &+ departure.timeIntervalSinceReferenceDate.bitPattern
    characters &+= carrier.utf8.count &+ tail.utf8.count &+ location.utf8.count
    characters &+= destination.utf8.count &+ remark.utf8.count
  }

  @inline(__always)
  mutating func add(_ flight: Flight) {
    add(
      number: flight.number, distance: flight.distance, delay: flight.delay, airTime: flight.airTime,
      departure: flight.departure, carrier: flight.carrier, tail: flight.tail, location: flight.location,
      destination: flight.destination, remark: flight.remark)
  }
}

/// Every byte of every row, in any order: compared once per store, outside the timed part.
struct ContentChecksum: Equatable {
  private(set) var rows = 0
  private(set) var sum: UInt64 = 0

  mutating func add(_ flight: Flight) {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    func mix(_ word: UInt64) {
      hash = (hash ^ word) &* 0x0000_0100_0000_01b3
      hash ^= hash >> 29
    }
    mix(UInt64(bitPattern: flight.number))
    mix(UInt64(bitPattern: flight.distance))
    mix(flight.delay.bitPattern)
    mix(flight.airTime.bitPattern)
    mix(flight.departure.timeIntervalSinceReferenceDate.bitPattern)
    for text in [flight.carrier, flight.tail, flight.location, flight.destination, flight.remark] {
      for byte in text.utf8 { mix(UInt64(byte)) }
      mix(256)
    }
    rows += 1
    sum &+= hash
  }
}

/// Sebastiano Vigna's SplitMix64.
struct SplitMix64: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }
}
