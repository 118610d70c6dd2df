import Foundation

/// A model that cannot be used, or cannot be read: everything that is wrong with it, one sentence each.
public struct ModelError: Error, Sendable, Hashable, CustomStringConvertible, LocalizedError {
  /// What is wrong, one sentence each, complete.
  public let sentences: [String]

  init(_ sentences: [String]) { self.sentences = sentences }
  init(_ sentence: String) { self.sentences = [sentence] }

  public var description: String { sentences.joined(separator: "\n") }
  public var errorDescription: String? { description }
}
