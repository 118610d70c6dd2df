import Foundation

/// One library's store of flights in one folder. Everything a benchmark times goes through this protocol, one
/// call per run, so that the call itself costs no peer anything.
protocol PeerStore: AnyObject {
  /// Inserts the flights in order and makes them durable with one commit.
  func insert(_ flights: [Flight]) throws -> Outcome

  /// Brings all rows into memory as the library's own objects or records and reads every attribute of each.
  func fetchAll() throws -> Outcome

  /// Whatever `fetchByID` needs to know of these rows beforehand (their identifiers). Not timed.
  func prepare(positions: [Int]) throws

  /// Fetches the prepared rows one by one and reads every attribute of each.
  func fetchByID() throws -> Outcome

  /// Every byte that is stored. Not timed.
  func contents() throws -> ContentChecksum

  /// Closes the store; no call follows.
  func close() throws
}

/// What a timed call leaves behind.
struct Outcome {
  var touch: Touch
  /// The fetched or inserted objects. The clock stops before they are released; releasing them is timed apart.
  var results: Any?
}

enum Benchmark: String, CaseIterable {
  case insert, fetch, byID = "by-id"

  var title: String {
    switch self {
    case .insert: "Insert all rows, two indexes, one durable save"
    case .fetch: "Fetch all rows, touch every attribute"
    case .byID: "Fetch 10,000 objects (or all, if fewer) by ID at random, touch every attribute"
    }
  }

  /// How many times as fast as GRDB's reference Strata has to be.
  var requiredRatio: Double {
    switch self {
    case .insert: 4
    case .fetch: 2
    case .byID: 20
    }
  }

  /// Rows one run handles.
  func rows(of size: Int) -> Int {
    self == .byID ? min(size, 10_000) : size
  }
}

/// A library in one of its idioms.
struct Contender: Sendable {
  enum Role: Sendable {
    case strata
    /// What the required ratio is measured against; where there are several, it is required against each.
    case reference
    /// What the storage engine can do with nothing above it.
    case floor
    case information
  }

  var name: String
  var role: Role
  /// Above this size it is left out: an idiom that is there for information need not take minutes.
  var largestSize = Int.max
  /// Names the folder of a store that another contender of the same library can read too.
  var library: String
  /// Creates the store with its two indexes, or opens the one that is there.
  var open: @Sendable (URL) async throws -> any PeerStore
}

extension Benchmark {
  var contenders: [Contender] {
    switch self {
    case .insert:
      [
        .grdb("GRDB, one statement", .reference, .statement),
        .grdb("GRDB, PersistableRecord", .information, .record, largestSize: 100_000),
        .grdb("GRDB, Codable", .information, .codable, largestSize: 100_000),
        .rawLMDB,
        .strata,
      ]
    case .fetch:
      [
        .grdb("GRDB, positional", .reference, .record),
        .grdb("GRDB, Codable", .information, .codable),
        .rawLMDB,
        .strata,
      ]
    case .byID:
      [
        .grdb("GRDB, fetchOne(key:), queue.read each", .reference, .record),
        .grdb("GRDB, cached statement, pool.read each", .reference, .poolRead),
        .grdb("GRDB, cached statement, unsafeRead each", .information, .unsafeRead),
        .grdb("GRDB, cached statement, one read", .information, .oneRead),
        .rawLMDB,
        .strata,
      ]
    }
  }
}
