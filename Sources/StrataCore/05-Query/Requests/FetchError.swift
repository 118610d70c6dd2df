import Foundation

/// A fetch request that cannot be executed against the model: thrown before the store is touched.
public struct FetchError: Error, Sendable, Hashable, CustomStringConvertible, LocalizedError {
  /// What is wrong with the request.
  public enum Reason: Sendable, Hashable {
    /// The model has no entity of this name.
    case unknownEntity
    /// The entity has no attribute named by the key.
    case unknownKey
    /// A part of a key path that makes one value of many, such as `@count`, where the path must end at an attribute.
    case computedKey
    /// The attribute is transient: the store knows nothing of it.
    case transientKey
    /// The attribute is transformable: its bytes cannot be examined; only whether it is nil can be asked.
    case transformableKey
    /// The attribute is composite: its elements can be compared, by their key paths, and of the whole whether it is nil.
    case compositeKey
    /// The value does not fit the attribute's type.
    case wrongType(expected: String, found: String)
    /// A string operator on an attribute that is no string.
    case notAString(operation: String)
    /// A negative limit, offset or batch size.
    case negativeWindow
    /// A predicate of more than 100 levels, those of key paths that follow relationships counted.
    case tooDeep
    /// The key names a fetched property, which has no values in the store (rule 111).
    case fetchedProperty
    /// The part of the request, named in the payload, means something for rows of values only (rule 98).
    case needsDictionaries(String)
    /// A column is a to-many relationship: a row of values has one value for each column (rule 96).
    case toManyColumn
    /// A column of a grouped request is neither grouped by, nor computed from what is grouped by, literals and aggregates, nor
    /// computed from values of one row alone (rule 98). The payload is its text.
    case ungroupedColumn(String)
    /// Two columns have the same name.
    case twoColumns
    /// A column's value, given as text, does not fit its type.
    case wrongResult(expected: String, found: String)
    /// The sum, given as text, is beyond 64 bits, or beyond what a decimal holds.
    case overflow(String)
    /// An aggregate, given as text, of values that it cannot be made of.
    case wrongAggregate(String, found: String)
    /// A page of no objects, or a request for pages with a limit or an offset of its own.
    case windowOfPages
    /// The continuation was made by another request.
    case foreignContinuation
    /// The comparison, given as text, is one that cannot be evaluated.
    case unsupported(String)
    /// A relationship where an attribute is needed: the key path must go on.
    case relationshipKey
    /// A key path goes on behind an attribute.
    case notARelationship
    /// The values of many objects where one is needed.
    case toManyKey
    /// ANY, ALL or a collection function of what is one value.
    case notMany(String)
    /// Two expressions of kinds that cannot be compared or computed with.
    case mismatch(expression: String, left: String, right: String)
    /// The variable was given no value.
    case unboundVariable(String)
    /// What a function or operator was given is of another kind than it takes.
    case wrongArgument(function: String, found: String)
  }

  /// Where in a request, or beside it, something wrong was found.
  public enum Part: Sendable, Hashable {
    case predicate
    /// The sort key as it was written.
    case sortKey(String)
    /// The key path that a fetched results controller divides its list by.
    case sectionKeyPath(String)
    /// One of `relationshipKeyPathsForPrefetching`.
    case prefetchedKeyPath(String)
  }

  /// What is wrong.
  public let reason: Reason
  /// The entity of the request.
  public let entityName: String
  /// The key concerned, if any.
  public let key: String?
  /// Where it was found; nil when it is about no part, or another one than these.
  public internal(set) var part: Part?
  /// The name of a property that was probably meant by a key that is unknown; nil when none is like it.
  public internal(set) var similarKey: String?

  public var description: String {
    statement + (similarKey.map { " Did you mean “\($0)”?" } ?? "")
  }

  /// The description without what was probably meant.
  package var statement: String {
    // The last letter of a sentence is its full stop.
    part.map { "\(sentence.dropLast()) (\($0.words))." } ?? sentence
  }

  private var sentence: String {
    let place = "\(entityName).\(key ?? "")"
    switch reason {
    case .unknownEntity: return "The model has no entity named “\(entityName)”."
    case .unknownKey:
      if case .prefetchedKeyPath = part {
        return "The entity \(entityName) has no relationship named “\(key ?? "")”."
      }
      return "The entity \(entityName) has no attribute named “\(key ?? "")”."
    case .computedKey:
      return "“\(key ?? "")” of \(entityName) is computed: only a predicate or a column can contain it."
    case .transientKey: return "\(place) is transient and cannot be used in a fetch request."
    case .transformableKey:
      return
        "\(place) is transformable: it can only be compared with nil in a fetch request, and not be sorted by."
    case .compositeKey:
      return
        "\(place) is composite: name its elements in a fetch request, as in “\(key ?? "").…”; it can only be compared with nil."
    case .wrongType(let expected, let found):
      return "\(place) is of type \(expected) and cannot be compared with \(found)."
    case .notAString(let operation): return "\(operation) needs a string attribute, \(place) is none."
    case .tooDeep:
      return
        "The predicate on \(entityName) is nested too deeply; \(PredicateResolver.depthLimit) levels are the limit."
    case .relationshipKey:
      return "\(place) is a relationship: name an attribute behind it, or compare it with objects."
    case .notARelationship: return "\(place) is no relationship: nothing can follow it in a key path."
    case .toManyKey:
      switch part {
      case .sortKey, .sectionKeyPath:
        return
          "\(place) stands for many values: a list has one for each object, at the end of to-one relationships."
      default: break
      }
      return
        "\(place) stands for many values: compare with ANY or ALL, or make one of them with @count, @sum, @min, @max or @avg."
    case .notMany(let text):
      return "In “\(text)” on \(entityName) there is one value where there should be many."
    case .mismatch(let expression, let left, let right):
      return "In “\(expression)” on \(entityName) a value of type \(left) meets one of type \(right)."
    case .unboundVariable(let name):
      return "The variable $\(name) in a request for \(entityName) has no value."
    case .wrongArgument(let function, let found):
      return "\(function) in a request for \(entityName) cannot be given a value of type \(found)."
    case .unsupported(let text): return "A predicate on \(entityName) cannot be evaluated: \(text)."
    case .fetchedProperty:
      return "\(place) is a fetched property and cannot be used in a fetch request."
    case .needsDictionaries(let part):
      return
        "A fetch request for \(entityName) has \(part), which only rows of values can have; make it a FetchRequest<FetchedDictionary>."
    case .toManyColumn:
      return
        "\(place) is a to-many relationship and cannot be a column; aggregate it in an expression, with @count say."
    case .ungroupedColumn(let text):
      return
        "The column “\(key ?? "")” of \(entityName), \(text), is neither grouped by nor an aggregate nor a literal; group by it, or make one value of those of a group, with max say."
    case .twoColumns: return "Two columns of \(entityName) are called “\(key ?? "")”."
    case .wrongResult(let expected, let found):
      return "The column “\(key ?? "")” of \(entityName) is of type \(expected) and cannot hold \(found)."
    case .overflow(let text): return "\(text) of \(entityName) is too large a number."
    case .wrongAggregate(let text, let found):
      return "\(text) of \(entityName) cannot be made of \(found)."
    case .windowOfPages:
      return
        "A request for pages of \(entityName) has no limit and no offset; the size of a page is at least 1."
    case .foreignContinuation:
      return
        "The continuation was made for another fetch request: entity, predicate and sort keys must be the same (\(entityName))."
    case .negativeWindow: return "A fetch limit, offset or batch size of \(entityName) is negative."
    }
  }

  public var errorDescription: String? { description }
}

extension FetchError.Part {
  fileprivate var words: String {
    switch self {
    case .predicate: "in the predicate"
    case .sortKey(let key): "in the sort key “\(key)”"
    case .sectionKeyPath(let path): "in the section key path “\(path)”"
    case .prefetchedKeyPath(let path): "in the key path “\(path)” for prefetching"
    }
  }
}

extension FetchError {
  /// Does what looks at one part of a request; errors say that it was there.
  static func locating<T>(_ part: Part, _ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch var error as FetchError {
      if error.part == nil { error.part = part }
      throw error
    }
  }
}
