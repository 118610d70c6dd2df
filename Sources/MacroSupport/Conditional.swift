import SwiftSyntax

/// A part of a source, or what stands for it in each branch of an `#if` of which a macro cannot tell whether it is compiled: what the macro writes has the same branches, and the
/// compiler takes one.
package indirect enum Conditional<Part> {
  case part(Part)
  /// Each branch begins with its line, `#if os(iOS)` or `#else`.
  case branches([(head: String, parts: [Conditional<Part>])])

  /// Every part, whichever branch it stands in.
  package var parts: [Part] {
    switch self {
    case .part(let part): [part]
    case .branches(let branches): branches.flatMap { $0.parts.flatMap(\.parts) }
    }
  }

  /// The part, if it stands in no branch.
  package var certain: Part? {
    if case .part(let part) = self { return part }
    return nil
  }

  /// The same branches with what becomes of each part, which may have branches itself.
  package func flatMap<Other>(_ transform: (Part) throws -> Conditional<Other>) rethrows -> Conditional<Other>
  {
    switch self {
    case .part(let part): try transform(part)
    case .branches(let branches):
      .branches(try branches.map { ($0.head, try $0.parts.map { try $0.flatMap(transform) }) })
    }
  }

  /// The same branches with what becomes of each part.
  package func map<Other>(_ transform: (Part) throws -> Other) rethrows -> Conditional<Other> {
    try flatMap { .part(try transform($0)) }
  }

  /// The same branches without the parts of which nothing becomes; nil when none is left.
  package func compactMap<Other>(_ transform: (Part) throws -> Other?) rethrows -> Conditional<Other>? {
    switch self {
    case .part(let part): return try transform(part).map { .part($0) }
    case .branches(let branches):
      let kept = try branches.map { ($0.head, try $0.parts.compactMap { try $0.compactMap(transform) }) }
      return kept.allSatisfy { $0.1.isEmpty } ? nil : .branches(kept)
    }
  }
}

extension Conditional<String> {
  /// The lines, each branch between its own.
  package var lines: [String] {
    switch self {
    case .part(let line): [line]
    case .branches(let branches): branches.flatMap { [$0.head] + $0.parts.flatMap(\.lines) } + ["#endif"]
    }
  }
}
