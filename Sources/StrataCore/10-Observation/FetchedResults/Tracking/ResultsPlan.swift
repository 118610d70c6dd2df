import Foundation

/// What a controller looks for: its request with all names looked up.
struct ResultsPlan {
  let specification: FetchSpecification
  let request: ResolvedFetchRequest
  /// The request with the section's value behind the sort keys.
  let evaluated: ResolvedFetchRequest
  let section: ResolvedSort?
  /// What names the sections where no stored value does.
  let computed: ComputedSections?
  let related: RelatedPaths
  /// Per sort key what labels its texts, where bytes do not have their order.
  let labels: [TextLabels?]
  /// The request as it was asked, where its condition has aggregates of all objects (`age == max(age)`), which `request` has the values of; nil for others.
  private let asked: FetchSpecification?
  private let sectionNameKeyPath: String?
  /// Whether objects that no sort key tells apart come in the descending order of their primary keys.
  var keysDescend: Bool { request.keysDescend }

  /// Without sort keys the order is the store's, that of primary keys.
  ///
  /// - Throws: ``FetchError``; `CoreDataError` 134060 when the section key path ends at an object (rule 242).
  init(
    _ specification: FetchSpecification, sectionNameKeyPath: String?, computed: ComputedSections? = nil,
    asked: FetchSpecification? = nil, schema: Schema
  ) throws {
    self.asked = asked
    self.sectionNameKeyPath = sectionNameKeyPath
    // The list is what the context shows (rule 243), also of a request that asks for what is stored.
    var specification = specification
    specification.includesPendingChanges = true
    self.specification = specification
    var request = try ResolvedFetchRequest(specification, schema: schema)
    // A window of another order would hold other objects.
    request.isPaged = true
    let resolver = PredicateResolver(entity: request.entity, schema: schema)
    let storedPath = computed == nil ? sectionNameKeyPath : nil
    let section = try storedPath.map { path -> ResolvedSort in
      let found = try FetchError.locating(.sectionKeyPath(path)) {
        try ResolvedSort(FetchSort(path), resolver)
      }
      guard let found, found.type != .objectID else {
        throw CoreDataError(
          .coreData,
          "The section key path \(specification.entityName).\(path) leads to an object; let it end at an attribute."
        )
      }
      return found
    }
    self.request = request
    self.section = section
    self.computed = computed
    evaluated = section.map { request.appending($0) } ?? request
    labels = request.sorts.map { sort in
      sort.isByBytes ? nil : TextLabels(sort.comparator, isAscending: sort.isAscending)
    }
    // A path that leads through nothing stored tells nothing of related objects.
    let affecting =
      computed?.affecting.sorted().compactMap { try? ResolvedSort(FetchSort($0), resolver) } ?? []
    related = RelatedPaths(request, (section.map { [$0] } ?? []) + affecting)
  }

  /// The plan of a request as the context has its objects now, unsaved changes included.
  ///
  /// - Parameter steady: What the list is to be read through, where the condition has aggregates of all objects: see `ManagedObjectContext.settling`.
  /// - Throws: what the initialiser throws, and what `ManagedObjectContext.settling` throws.
  static func make(
    _ specification: FetchSpecification, sectionNameKeyPath: String?, computed: ComputedSections?,
    in context: ManagedObjectContext, _ steady: inout SteadyReading?
  ) throws -> ResultsPlan {
    var shown = specification
    shown.includesPendingChanges = true
    let condition: FetchPredicate? = shown.predicate
    return try context.settling(shown, ofStored: false, &steady) { settled in
      let found: FetchPredicate? = settled.predicate
      return try ResultsPlan(
        settled, sectionNameKeyPath: sectionNameKeyPath, computed: computed,
        asked: found == condition ? nil : shown, schema: context.schema)
    }
  }

  /// The plan with other values of the aggregates in its condition; nil when they are what they were, and for a condition without any.
  /// - Parameter steady: as in `make`.
  func renewed(in context: ManagedObjectContext, _ steady: inout SteadyReading?) throws -> ResultsPlan? {
    guard let asked else { return nil }
    context.flushAncestors()
    let new = try Self.make(
      asked, sectionNameKeyPath: sectionNameKeyPath, computed: computed, in: context, &steady)
    return new.request.predicate == request.predicate ? nil : new
  }

  var hasSections: Bool { section != nil || computed != nil }

  /// Whether all that order and sections follow from is in an object's own row.
  var isLocal: Bool { evaluated.sorts.allSatisfy(\.steps.isEmpty) }

  /// Why a list cannot be divided into sections (rule 242).
  func groupingError(_ key: String) -> CoreDataError {
    let order =
      request.sorts.first.map { "the order of the first sort key, \($0.name)" } ?? "the store's order"
    return CoreDataError(
      .coreData,
      "Objects of \(request.entity.name) with the same section “\(key)” (\(section?.name ?? computed?.keyPath ?? "")) do not stand together in \(order). "
        + "Sort by the section key path first, or by what puts objects into the same groups."
    )
  }
}

/// Names of sections that no stored value says: a property of the class, or a transient attribute.
package struct ComputedSections {
  let keyPath: String
  /// The key paths that a name is made of beyond the object's own properties.
  let affecting: Set<String>
  /// The name of the section that an object is in. Called on the context's queue, once for each object and once after each change of it.
  let name: (ManagedObject) -> String

  package init(keyPath: String, affecting: Set<String>, name: @escaping (ManagedObject) -> String) {
    self.keyPath = keyPath
    self.affecting = affecting
    self.name = name
  }
}

/// The names of sections by number. Numbers are never used again, so that lists of different times can be compared.
final class SectionNames {
  private(set) var names: [String] = []
  private var numbers: [ExactText: UInt32] = [:]
  private let transform: ((String) -> String)?
  private var last: (value: AttributeValue, number: UInt32)?

  init(_ transform: ((String) -> String)?) { self.transform = transform }

  /// The one section of a list without a section key path.
  func numberOfOnly() -> UInt32 { number(named: "") }

  func number(for value: AttributeValue) -> UInt32 {
    if let last, AttributeValue.compare(last.value, value) == 0 { return last.number }
    let text = SectionText.text(value)
    let number = number(named: transform.map { $0(text) } ?? text)
    last = (value, number)
    return number
  }

  func number(named name: String) -> UInt32 {
    if let known = numbers[ExactText(text: name)] { return known }
    let number = UInt32(names.count)
    names.append(name)
    numbers[ExactText(text: name)] = number
    return number
  }

}

/// What values are called as sections.
package enum SectionText {
  /// Nil is called nothing. Numbers are called as Core Data's `NSNumber` describes them: true is 1, and a whole number has no fraction.
  package static func text(_ value: AttributeValue) -> String {
    switch value {
    case .null: ""
    case .string(let text): text
    case .integer(let number): "\(number)"
    case .boolean(let isTrue): isTrue ? "1" : "0"
    // Zeros of either sign stand together.
    case .double(let number): FunctionValue.text(number == 0 ? 0 : number)
    case .float(let number): FunctionValue.text(number == 0 ? 0 : number)
    case .decimal(let number): "\(number)"
    case .date(let date): AttributeValue.describe(date)
    case .uuid(let uuid): uuid.uuidString
    case .url(let url): url.absoluteString
    case .data(let data): data.description
    case .reference(let bits): "\(bits)"
    }
  }
}

/// A text that is only equal to the same scalars, as in the order of a fetch: to others, “é” is “e” with an accent, too.
private struct ExactText: Hashable {
  let text: String

  static func == (left: Self, right: Self) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

  func hash(into hasher: inout Hasher) {
    for byte in text.utf8 { hasher.combine(byte) }
    hasher.combine(UInt8(0xFF))
  }
}

/// Makes the bytes that entries are ordered by.
struct SortKeyMaker: ~Copyable {
  private var builder = KeyBuilder()
  private let sorts: [ResolvedSort]
  private let labels: [TextLabels?]
  private let keysDescend: Bool
  /// How long the first part is.
  private(set) var firstPartLength = 0

  /// Longer values are looked at as a whole all the same, at the price of one more attempt.
  private static var usualLimit: Int { 1_024 }
  /// The bits of an identity that are those of the primary key.
  private static var keyBits: UInt64 { ~0xFFFF }

  init(_ plan: ResultsPlan) {
    sorts = plan.request.sorts
    labels = plan.labels
    keysDescend = plan.keysDescend
  }

  var bytes: UnsafeRawBufferPointer { builder.bytes }

  mutating func make(_ values: [AttributeValue], _ identity: UInt64) {
    builder.reset()
    for (place, sort) in sorts.enumerated() {
      append(values[place], sort, labels[place])
      if place == 0 { firstPartLength = builder.count }
    }
    // Equal bytes come by ascending identity.
    if keysDescend { builder.appendPrimaryKey(identity ^ Self.keyBits) }
  }

  /// From the row of an object that has all of the values itself.
  mutating func make(
    _ row: RowSnapshot, _ bound: BoundEntity, _ identity: UInt64, value: (Int) -> AttributeValue
  ) {
    builder.reset()
    for (place, sort) in sorts.enumerated() {
      let start = builder.count
      if let labels = labels[place] {
        append(value(sort.slot), sort, labels)
        if place == 0 { firstPartLength = builder.count }
        continue
      }
      let part = builder.append(
        fromRow: row.base, slot: sort.slot, layout: bound.layout, isAscending: sort.isAscending,
        limit: Self.usualLimit)
      if part != .whole {
        builder.truncate(to: start)
        append(value(sort.slot), sort, nil)
      }
      if place == 0 { firstPartLength = builder.count }
    }
    if keysDescend { builder.appendPrimaryKey(identity ^ Self.keyBits) }
  }

  private mutating func append(_ value: AttributeValue, _ sort: ResolvedSort, _ labels: TextLabels?) {
    if let labels, case .string(let text) = value {
      // Labels ascend in the direction of the list.
      let label = labels.label(of: text)
      builder.append(.data(Data(label)), isAscending: true, limit: label.count * 2 + 2)
      return
    }
    let start = builder.count
    if builder.append(value, isAscending: sort.isAscending, limit: Self.usualLimit) == .whole { return }
    builder.truncate(to: start)
    let length =
      switch value {
      case .string(let text): text.utf8.count
      case .url(let url): url.absoluteString.utf8.count
      case .data(let data): data.count
      default: 0
      }
    // A zero takes two bytes.
    builder.append(value, isAscending: sort.isAscending, limit: length * 2 + 2)
  }
}
