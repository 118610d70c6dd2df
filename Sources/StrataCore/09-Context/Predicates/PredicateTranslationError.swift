import Foundation

/// A `#Predicate` that cannot become a fetch predicate: it holds something that no store can look up.
public struct PredicateTranslationError: Error, Sendable, Hashable, CustomStringConvertible, LocalizedError {
  /// The part of the predicate that is concerned, by the name of its type in Foundation, or a key path.
  public let expression: String
  /// Why, in words.
  public let reason: String

  public var description: String { "#Predicate: \(expression): \(reason)." }
  public var errorDescription: String? { description }
}
