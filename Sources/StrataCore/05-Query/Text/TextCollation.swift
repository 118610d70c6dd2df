import Foundation

/// How a sort key orders texts.
///
///     FetchSort(\Book.title, comparator: .localizedStandard)
///     SortDescriptor(\Book.title, comparator: .localizedStandard)
///
/// Indexes have the order of ``bytes``. A request with another order reads every row that matches, compares the texts in memory and cuts its window
/// then: some microseconds for each comparison. The localized orders are those of `Locale.current` at the time of the fetch. Texts that an order calls
/// equal come by the next sort key, at last by primary key. Nil comes before every text.
public struct TextCollation: Sendable, Hashable, CustomStringConvertible {
  enum Rule: UInt8, Sendable {
    case bytes, caseInsensitive, localized, localizedCaseInsensitive, localizedStandard
  }
  let rule: Rule

  /// By the bytes of the UTF-8 form: the order of indexes, and that of sort keys that say nothing.
  public static let bytes = TextCollation(rule: .bytes)
  /// By Foundation's `caseInsensitiveCompare(_:)`.
  public static let caseInsensitive = TextCollation(rule: .caseInsensitive)
  /// By Foundation's `localizedCompare(_:)`.
  public static let localized = TextCollation(rule: .localized)
  /// By Foundation's `localizedCaseInsensitiveCompare(_:)`.
  public static let localizedCaseInsensitive = TextCollation(rule: .localizedCaseInsensitive)
  /// As lists of files are ordered for people, by Foundation's `localizedStandardCompare(_:)`: regardless of case, numbers by their value.
  public static let localizedStandard = TextCollation(rule: .localizedStandard)

  /// Which of two texts comes first.
  public func compare(_ left: String, _ right: String) -> ComparisonResult {
    switch rule {
    case .bytes:
      let order = AttributeValue.compare(.string(left), .string(right))
      return order < 0 ? .orderedAscending : order > 0 ? .orderedDescending : .orderedSame
    case .caseInsensitive: return left.caseInsensitiveCompare(right)
    case .localized: return left.localizedCompare(right)
    case .localizedCaseInsensitive: return left.localizedCaseInsensitiveCompare(right)
    case .localizedStandard: return left.localizedStandardCompare(right)
    }
  }

  /// Less than 0 when the first of two values comes first. What is no text is ordered as other values are, nil first.
  package func order(_ left: AttributeValue, _ right: AttributeValue) -> Int {
    guard rule != .bytes, case .string(let first) = left, case .string(let second) = right else {
      return AttributeValue.compare(left, right)
    }
    return compare(first, second).rawValue
  }

  public var description: String {
    switch rule {
    case .bytes: "bytes"
    case .caseInsensitive: "case-insensitive order"
    case .localized: "localized order"
    case .localizedCaseInsensitive: "localized case-insensitive order"
    case .localizedStandard: "localized standard order"
    }
  }
}
