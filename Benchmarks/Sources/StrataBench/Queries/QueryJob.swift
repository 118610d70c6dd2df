import Foundation

/// One question, asked of both libraries, and how many times as fast as GRDB Strata has to be.
enum QueryJob: String, CaseIterable {
  case equality = "1,000 × location == x, indexed, all attributes"
  case scan = "10 × scan, integer and substring"
  case count = "10 × count, unindexed integer"
  case newest = "1,000 × newest 50 by indexed date"
  case sort = "sort all by an unindexed double"
  case coveredCount = "10 × count, indexed integer, against GRDB's scan"
  case sameIndexCount = "10 × count, indexed integer, GRDB with the same index"
  case update = "update 10 % in one save"
  case delete = "delete 10 % in one save"
  case anyRare = "10 × planes with ANY flights.delay > 600"
  case anyCommon = "10 × planes with ANY flights.delay > 60"
  case subquery = "10 × planes with more than 5 late long flights (SUBQUERY)"
  case related = "10 × count of flights by plane.manufacturer"
  case relatedRows = "10 × flights of one plane.tail, all attributes"

  var requiredRatio: Double {
    switch self {
    case .equality, .scan, .sort: 2
    case .count: 1.3
    case .newest: 1.5
    case .coveredCount: 10
    case .update, .delete: 4
    case .sameIndexCount, .anyRare, .anyCommon, .subquery, .related, .relatedRows: 1
    }
  }

  /// Whether it is asked of the real flights, their planes and airports.
  var isAboutGraph: Bool {
    switch self {
    case .anyRare, .anyCommon, .subquery, .related, .relatedRows: true
    default: false
    }
  }
}

/// What an answer adds up to.
struct QueryAnswer: Equatable {
  var count = 0
  var touch = Touch()
}

/// One library's stores of the same data.
protocol QueryPeer: AnyObject {
  /// Does a job once. `variant` names another way to ask the same, where there is one.
  func run(_ job: QueryJob, variant: Int) throws -> QueryAnswer
  /// How many ways there are to ask it.
  func variants(_ job: QueryJob) -> Int
  func close() throws
}

extension QueryPeer {
  func variants(_ job: QueryJob) -> Int { 1 }
}

/// What jobs ask for.
enum QueryValues {
  static func location(_ number: Int) -> String { "L\(100_000 + (number * 7) % 1_000)" }
  static let part = "123 in time"
  static let distance: Int64 = 2_500
  static let fewDistance: Int64 = 1_000
  /// A tenth of the locations lie below it.
  static let tenth = "L100100"
}
