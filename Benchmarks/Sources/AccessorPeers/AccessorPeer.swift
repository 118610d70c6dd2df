import Foundation

/// One way to write a class of managed objects, with the same ten attributes as the other one.
public struct AccessorPeer {
  /// What the class is written with.
  public let name: String
  /// Makes so many objects, sets their ten attributes, saves.
  public let insert: (_ rows: Int) throws -> Void
  /// Fetches all of them into a new context and reads ten attributes of each. Returns what they add up to.
  public let fetchAndTouch: () throws -> Int64
  /// Fetches all of them, then reads ten attributes of each, so many times. Returns the seconds that one reading took.
  public let read: (_ rounds: Int) throws -> Double
  /// Fetches all of them and edits each, then sets five attributes of each, so many times. Returns the seconds that one setting took.
  public let write: (_ rounds: Int) throws -> Double
  /// Closes the store.
  public let close: () throws -> Void
}

/// What an object is made of.
struct Row {
  let number: Int64
  let delay: Double
  let departure: Date
  let carrier: String
  let tail: String
  let location: String
  let destination: String
  let remark: String

  init(_ number: Int) {
    self.number = Int64(number)
    delay = Double(number % 90) / 8
    departure = Date(timeIntervalSinceReferenceDate: Double(number))
    carrier = ["AA", "B6", "DL", "UA", "WN"][number % 5]
    tail = "N\(10_000 + number % 90_000)"
    location = "L\(100_000 + number % 1_000)"
    destination = "gate \(number % 300)"
    remark = "in time, as filed, no remarks; in time, as filed, no remarks; \(1_000_000 + number)"
  }

  /// Made before any clock runs.
  static func make(_ count: Int) -> [Row] { (0..<count).map(Row.init) }
}

func seconds(_ body: () throws -> Void) rethrows -> Double {
  let start = ContinuousClock.now
  try body()
  return (ContinuousClock.now - start) / .seconds(1)
}
