import Foundation

/// A `#Predicate` that cannot become a fetch predicate, or a key path of a sort key or a value that leads to nothing stored: it holds something that no
/// store can look up.
public struct PredicateTranslationError: Error, Sendable, Hashable, CustomStringConvertible, LocalizedError {
  /// Where in a request an expression stands.
  public enum Place: Sendable, Hashable {
    /// In the condition.
    case predicate
    /// In the order.
    case sortKey
    /// Among the values that are fetched.
    case value
    /// Among the relationships whose objects are read at once.
    case prefetching
  }

  /// Where in the request it stands.
  public let place: Place
  /// The part of the predicate that is concerned, by the name of its type in Foundation, or a key path.
  public let expression: String
  /// Why, in words.
  public let reason: String

  init(_ place: Place = .predicate, expression: String, reason: String) {
    self.place = place
    self.expression = expression
    self.reason = reason
  }

  /// Runs `body`, whose errors are of a key path in another place than a condition.
  package static func naming<Answer>(_ place: Place, _ body: () throws -> Answer) throws -> Answer {
    do {
      return try body()
    } catch let error as PredicateTranslationError {
      throw PredicateTranslationError(place, expression: error.expression, reason: error.reason)
    }
  }

  public var description: String {
    let start =
      switch place {
      case .predicate: "#Predicate"
      case .sortKey: "Sort key"
      case .value: "Fetched value"
      case .prefetching: "Prefetched key path"
      }
    return "\(start): \(expression): \(reason)."
  }
  public var errorDescription: String? { description }
}
