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

/// What both classes have.
protocol FlightOfTen: AnyObject {
  var number: Int64 { get set }
  var distance: Int32 { get set }
  var delay: Double { get set }
  var isLate: Bool { get set }
  var departure: Date? { get set }
  var carrier: String? { get set }
  var tail: String? { get set }
  var location: String? { get set }
  var destination: String? { get set }
  var remark: String? { get set }
}

// Inlined, so that they are compiled for each of the two final classes and call its accessors directly.
extension FlightOfTen {
  /// Reads all ten attributes.
  @inline(__always)
  func touch() -> Int64 {
    var sum = number &+ Int64(distance) &+ Int64(delay) &+ (isLate ? 1 : 0)
    sum &+= departure == nil ? 0 : 1
    sum &+= Int64(carrier?.utf8.count ?? 0) &+ Int64(tail?.utf8.count ?? 0)
    sum &+= Int64(location?.utf8.count ?? 0) &+ Int64(destination?.utf8.count ?? 0)
    return sum &+ Int64(remark?.utf8.count ?? 0)
  }

  /// Sets all ten attributes.
  @inline(__always)
  func fill(_ row: Row) {
    number = row.number
    distance = Int32(truncatingIfNeeded: row.number)
    delay = row.delay
    isLate = row.delay > 5
    departure = row.departure
    carrier = row.carrier
    tail = row.tail
    location = row.location
    destination = row.destination
    remark = row.remark
  }

  /// Sets five attributes.
  @inline(__always)
  func change(_ row: Row, _ round: Int) {
    number = Int64(round)
    delay = Double(round)
    isLate = round % 2 == 0
    departure = row.departure
    carrier = row.carrier
  }
}

extension AccessorPeer {
  /// The measurements, compiled for one class and one way to reach the store.
  @inline(__always)
  init<Context, Flight: FlightOfTen>(
    name: String, rows: [Row], context: @escaping () -> Context,
    all: @escaping (Context) throws -> [Flight], make: @escaping (Context) -> Flight,
    save: @escaping (Context) throws -> Void, rollback: @escaping (Context) -> Void,
    close: @escaping () throws -> Void
  ) {
    self.init(
      name: name,
      insert: { count in
        let context = context()
        for row in rows.prefix(count) { make(context).fill(row) }
        try save(context)
      },
      fetchAndTouch: {
        let context = context()
        var sum: Int64 = 0
        for flight in try all(context) { sum &+= flight.touch() }
        return sum
      },
      read: { rounds in
        let context = context()
        let flights = try all(context)
        var sum: Int64 = 0
        for flight in flights { sum &+= flight.touch() }
        let time = seconds {
          for _ in 0..<rounds { for flight in flights { sum &+= flight.touch() } }
        }
        return sum == 0 ? .nan : time / Double(rounds)
      },
      write: { rounds in
        let context = context()
        let flights = try all(context)
        for flight in flights { flight.number = 0 }
        let time = seconds {
          for round in 0..<rounds {
            for (place, flight) in flights.enumerated() { flight.change(rows[place], round) }
          }
        }
        rollback(context)
        return time / Double(rounds)
      },
      close: close)
  }
}

func seconds(_ body: () throws -> Void) rethrows -> Double {
  let start = ContinuousClock.now
  try body()
  return (ContinuousClock.now - start) / .seconds(1)
}
