import Foundation

/// A model that cannot be used, or cannot be read: everything that is wrong with it, one sentence each.
public struct ModelError: Error, Sendable, Hashable, CustomStringConvertible, LocalizedError {
  /// What is wrong, one sentence each, complete.
  public let sentences: [String]

  init(_ sentences: [String]) { self.sentences = sentences }
  init(_ sentence: String) { self.sentences = [sentence] }

  /// Sentences that say, where they name what a class declares, in which file.
  init(_ sentences: [String], places declarations: [EntityDeclaration]) {
    self.sentences = sentences.map { sentence in
      let named = sentence.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
      let places = declarations.filter { declaration in
        named.contains { $0 == declaration.name } && !sentence.contains(declaration.location)
      }
      guard let first = places.first else { return sentence }
      let others = places.dropFirst().map { ", \($0.name) in \($0.location)" }.joined()
      return "\(sentence) \(first.name) is declared in \(first.location)\(others)."
    }
  }

  public var description: String { sentences.joined(separator: "\n") }
  public var errorDescription: String? { description }
}
