import CoreData
import Testing

/// Values of every number type, as Swift's and as Foundation's types, through every setter and getter.
@Suite("Values stay what they are")
struct ValueFidelityTests {
  /// One value: the type of its attribute, what is handed in, and the text of what must come out.
  struct Case: @unchecked Sendable {
    // @unchecked Sendable: the values never change.
    let name: String
    let type: NSAttributeDescription.AttributeType
    let given: Any
    let expected: String

    init(_ name: String, _ type: NSAttributeDescription.AttributeType, _ given: Any, _ expected: String) {
      (self.name, self.type, self.given, self.expected) = (name, type, given, expected)
    }
  }

  private static let long = "12345678901234567890.123456789"
  private static let longest = "12345678901234567890123456789.012345678"

  static let cases: [Case] = [
    Case("decimalObject", .decimal, NSDecimalNumber(string: long), long),
    Case("decimal", .decimal, Decimal(string: long) ?? 0, long),
    Case("decimalOf38", .decimal, NSDecimalNumber(string: longest), longest),
    Case("negativeDecimalOf38", .decimal, Decimal(string: "-" + longest) ?? 0, "-" + longest),
    Case("wholeDecimal", .decimal, NSDecimalNumber(string: "9007199254740993"), "9007199254740993"),
    Case(
      "smallDecimal", .decimal, NSDecimalNumber(string: "1E-38"), "0.00000000000000000000000000000000000001"),
    Case("decimalOfLong", .decimal, NSNumber(value: Int64.max), "9223372036854775807"),
    Case("decimalOfUnsigned", .decimal, NSNumber(value: UInt64.max), "18446744073709551615"),
    Case("decimalOfSwiftUnsigned", .decimal, UInt64.max, "18446744073709551615"),
    Case("decimalOfFloat", .decimal, NSNumber(value: Float(0.1)), "0.1"),
    Case("decimalOfDouble", .decimal, NSNumber(value: 0.1), "0.1"),
    Case("long", .integer64, NSNumber(value: 9_007_199_254_740_993 as Int64), "9007199254740993"),
    Case("longest", .integer64, Int64.max, "9223372036854775807"),
    Case("least", .integer64, NSNumber(value: Int64.min), "-9223372036854775808"),
    Case("longOfDecimal", .integer64, NSDecimalNumber(string: "9007199254740993"), "9007199254740993"),
    Case("longOfUnsigned", .integer64, UInt64(9_007_199_254_740_993), "9007199254740993"),
    Case("longOfBoolean", .integer64, NSNumber(value: true), "1"),
    Case("medium", .integer32, NSNumber(value: Int32.max), "2147483647"),
    Case("short", .integer16, NSNumber(value: Int16.min), "-32768"),
    Case("double", .double, NSNumber(value: 0.1), "0.1"),
    Case("wholeDouble", .double, NSNumber(value: 2.0), "2.0"),
    Case("doubleOfLong", .double, NSNumber(value: 9_007_199_254_740_992 as Int64), "9007199254740992.0"),
    Case("float", .float, NSNumber(value: Float(0.1)), "0.1"),
    Case("swiftFloat", .float, Float(0.1), "0.1"),
    Case("floatOfDecimal", .float, NSDecimalNumber(string: "0.1"), "0.1"),
    Case("true", .boolean, NSNumber(value: true), "true"),
    Case("false", .boolean, NSNumber(value: false), "false"),
    Case("trueOfNumber", .boolean, NSNumber(value: 1), "true"),
    Case("swiftTrue", .boolean, true, "true"),
    Case("date", .date, Date(timeIntervalSinceReferenceDate: 700_000_000.123456), "700000000.123456"),
    Case("dateObject", .date, NSDate(timeIntervalSinceReferenceDate: -0.1), "-0.1"),
    Case("text", .string, NSString("é"), "é"),
  ]

  /// What came out, as text; "nil" for nothing.
  static func text(_ value: Any?, _ type: NSAttributeDescription.AttributeType) -> String {
    guard let value, !(value is NSNull) else { return "nil" }
    switch type {
    case .decimal: return (value as? NSDecimalNumber).map { "\($0.decimalValue)" } ?? "no decimal: \(value)"
    case .integer16, .integer32, .integer64:
      let number = value as? NSNumber
      return ["f", "d"].contains(number.map { String(cString: $0.objCType) })
        ? "no integer: \(value)" : number.map { "\($0.int64Value)" } ?? "no number: \(value)"
    case .double: return (value as? Double).map { "\($0)" } ?? "no double: \(value)"
    case .float: return (value as? Float).map { "\($0)" } ?? "no float: \(value)"
    case .boolean: return (value as? Bool).map { "\($0)" } ?? "no boolean: \(value)"
    case .date: return (value as? Date).map { "\($0.timeIntervalSinceReferenceDate)" } ?? "no date: \(value)"
    default: return value as? String ?? "no text: \(value)"
    }
  }

  // MARK: Ways in

  private static let waysIn: [(String, @Sendable (NSManagedObjectContext) throws -> NSManagedObject)] = [
    ("setValue", { filled($0) { $0.setValue($1.given, forKey: $1.name) } }),
    ("setValuesForKeys", { filled($0) { $0.setValuesForKeys([$1.name: $1.given]) } }),
    ("setPrimitiveValue", { filled($0) { $0.setPrimitiveValue($1.given, forKey: $1.name) } }),
    (
      "NSDictionary",
      {
        filled($0) {
          $0.setValue(NSDictionary(dictionary: ["v": $1.given]).object(forKey: "v"), forKey: $1.name)
        }
      }
    ),
    (
      "key path of a collection",
      { context in
        let holder = NSEntityDescription.insertNewObject(forEntityName: "Holder", into: context)
        let record = NSEntityDescription.insertNewObject(forEntityName: "Record", into: context)
        record.setValue(holder, forKey: "holder")
        for one in cases { holder.setValue(one.given, forKeyPath: "records.\(one.name)") }
        return record
      }
    ),
    ("default value", { NSEntityDescription.insertNewObject(forEntityName: "Defaulted", into: $0) }),
    (
      "batch insert",
      { context in
        let values = Dictionary(uniqueKeysWithValues: cases.map { ($0.name, $0.given) })
        let request = NSBatchInsertRequest(entityName: "Record", objects: [values])
        request.resultType = .objectIDs
        return try only(context, (context.execute(request) as? NSBatchInsertResult)?.result)
      }
    ),
    (
      "batch update",
      { context in
        try updated(context) { $0.given }
      }
    ),
    (
      "batch update by expression",
      { context in
        try updated(context) { NSExpression(forConstantValue: $0.given) }
      }
    ),
    (
      "batch update by format",
      { context in
        try updated(context) { NSExpression(format: "%@", argumentArray: [$0.given]) }
      }
    ),
  ]

  private static func filled(
    _ context: NSManagedObjectContext, _ set: (NSManagedObject, Case) -> Void
  ) -> NSManagedObject {
    let record = NSEntityDescription.insertNewObject(forEntityName: "Record", into: context)
    for one in cases { set(record, one) }
    return record
  }

  private static func only(_ context: NSManagedObjectContext, _ result: Any?) throws -> NSManagedObject {
    let identifiers = try #require(result as? [NSManagedObjectID])
    return context.object(with: try #require(identifiers.first))
  }

  private static func updated(
    _ context: NSManagedObjectContext, _ value: (Case) -> Any
  ) throws -> NSManagedObject {
    _ = NSEntityDescription.insertNewObject(forEntityName: "Record", into: context)
    try context.save()
    let request = NSBatchUpdateRequest(entityName: "Record")
    request.propertiesToUpdate = Dictionary(uniqueKeysWithValues: cases.map { ($0.name, value($0)) })
    request.resultType = .updatedObjectIDsResultType
    let record = try only(context, (context.execute(request) as? NSBatchUpdateResult)?.result)
    context.refresh(record, mergeChanges: false)
    return record
  }

  // MARK: Ways out

  private typealias WayOut = @Sendable (NSManagedObject, Case) throws -> String

  /// Those that need no row in the store.
  private static let waysOutOfMemory: [(String, WayOut)] = [
    ("value", { text($0.value(forKey: $1.name), $1.type) }),
    ("primitive value", { text($0.primitiveValue(forKey: $1.name), $1.type) }),
    ("values for keys", { text($0.dictionaryWithValues(forKeys: [$1.name])[$1.name], $1.type) }),
    ("evaluate ==", { found(equal($1).evaluate(with: $0), $1) }),
    (
      "evaluate %@ ==",
      { found(NSPredicate(format: "%@ == %K", argumentArray: [$1.given, $1.name]).evaluate(with: $0), $1) }
    ),
    ("evaluate IN", { found(list($1).evaluate(with: $0), $1) }),
    (
      "evaluate NSArray IN",
      {
        found(
          NSPredicate(format: "%K IN %@", argumentArray: [$1.name, NSArray(object: $1.given)]).evaluate(
            with: $0), $1)
      }
    ),
    (
      "expression",
      { text(NSExpression(forKeyPath: $1.name).expressionValue(with: $0, context: nil), $1.type) }
    ),
    (
      "union",
      { record, one in
        let key = NSExpression(forKeyPath: one.name)
        let set =
          NSExpression(
            forUnionSet: NSExpression(forAggregate: [key]), with: NSExpression(forAggregate: [key])
          ).expressionValue(with: record, context: nil) as? Set<AnyHashable>
        return set?.count == 1 ? text(set?.first?.base, one.type) : "\(set?.count ?? -1) elements"
      }
    ),
    (
      "max: of a list",
      { record, one in
        let list = NSExpression(
          forFunction: "max:", arguments: [NSExpression(forAggregate: [NSExpression(forKeyPath: one.name)])])
        return text(list.expressionValue(with: record, context: nil), one.type)
      }
    ),
    ("@max", { try ofHolder($0, "records.@max.\($1.name)", $1) }),
    ("@min", { try ofHolder($0, "records.@min.\($1.name)", $1) }),
    (
      "@distinctUnionOfObjects",
      { record, one in
        let values =
          try holder(record).value(forKeyPath: "records.@distinctUnionOfObjects.\(one.name)") as? [Any]
        return text(values?.first, one.type)
      }
    ),
    (
      "@sum",
      { record, one in
        guard isNumber(one.type) else { return one.expected }
        let sum = try holder(record).value(forKeyPath: "records.@sum.\(one.name)") as? NSDecimalNumber
        // Sums are decimal: of a float and a double what they are as decimals.
        if one.type == .float || one.type == .double {
          return sum?.doubleValue == Double(one.expected) ? one.expected : "\(sum ?? 0)"
        }
        return "\(sum?.decimalValue ?? 0)"
      }
    ),
    (
      "sorted",
      { record, one in
        try sorted(record, one, [NSSortDescriptor(key: one.name, ascending: true)])
      }
    ),
  ]

  private static let waysOutOfStore: [(String, WayOut)] = [
    ("fetch ==", { found(try fetched($0, equal($1)), $1) }),
    ("fetch IN", { found(try fetched($0, list($1)), $1) }),
    (
      "fetch BETWEEN",
      {
        $1.type == .string || $1.type == .boolean
          ? $1.expected
          : found(
            try fetched(
              $0, NSPredicate(format: "%K BETWEEN %@", argumentArray: [$1.name, [$1.given, $1.given]])),
            $1)
      }
    ),
    (
      "fetch by the predicate's text",
      {
        found(try fetched($0, NSPredicate(format: "\(equal($1))")), $1)
      }
    ),
    (
      "fetch with a bound variable",
      {
        let predicate = NSPredicate(format: "%K == $v", argumentArray: [$1.name])
        return found(try fetched($0, predicate.withSubstitutionVariables(["v": $1.given])), $1)
      }
    ),
    ("column", { try column($0, $1, NSExpression(forKeyPath: $1.name)) }),
    (
      "column max:",
      {
        try column($0, $1, NSExpression(forFunction: "max:", arguments: [NSExpression(forKeyPath: $1.name)]))
      }
    ),
    ("column of a constant", { try column($0, $1, NSExpression(forConstantValue: $1.given)) }),
    ("committed value", { text($0.committedValues(forKeys: [$1.name])[$1.name], $1.type) }),
  ]

  private static func isNumber(_ type: NSAttributeDescription.AttributeType) -> Bool {
    ![.string, .date, .boolean].contains(type)
  }

  private static func equal(_ one: Case) -> NSPredicate {
    NSPredicate(format: "%K == %@", argumentArray: [one.name, one.given])
  }

  private static func list(_ one: Case) -> NSPredicate {
    NSPredicate(format: "%K IN %@", argumentArray: [one.name, [one.given]])
  }

  private static func found(_ isFound: Bool, _ one: Case) -> String { isFound ? one.expected : "not found" }

  private static func context(_ record: NSManagedObject) throws -> NSManagedObjectContext {
    try #require(record.managedObjectContext)
  }

  private static func holder(_ record: NSManagedObject) throws -> NSManagedObject {
    if let holder = record.value(forKey: "holder") as? NSManagedObject { return holder }
    let holder = NSEntityDescription.insertNewObject(forEntityName: "Holder", into: try context(record))
    record.setValue(holder, forKey: "holder")
    return holder
  }

  private static func ofHolder(_ record: NSManagedObject, _ path: String, _ one: Case) throws -> String {
    text(try holder(record).value(forKeyPath: path), one.type)
  }

  private static func fetched(_ record: NSManagedObject, _ predicate: NSPredicate) throws -> Bool {
    let request = NSFetchRequest<NSManagedObject>(entityName: record.entity.name ?? "")
    request.predicate = predicate
    return try context(record).fetch(request) == [record]
  }

  private static func column(_ record: NSManagedObject, _ one: Case, _ expression: NSExpression) throws
    -> String
  {
    let column = NSExpressionDescription()
    column.name = "it"
    column.expression = expression
    column.resultType = one.type
    let request = NSFetchRequest<NSDictionary>(entityName: record.entity.name ?? "")
    request.resultType = .dictionaryResultType
    request.propertiesToFetch = [column]
    return text(try context(record).fetch(request).first?["it"], one.type)
  }

  /// A neighbour that is less by the last digit comes first, whichever stood first.
  private static func sorted(_ record: NSManagedObject, _ one: Case, _ sort: [NSSortDescriptor]) throws
    -> String
  {
    guard one.type == .decimal, let number = record.value(forKey: one.name) as? Decimal else {
      return one.expected
    }
    let less = NSEntityDescription.insertNewObject(forEntityName: "Record", into: try context(record))
    defer { try? context(record).delete(less) }
    let digit = Decimal(sign: .plus, exponent: number.exponent, significand: 1)
    less.setValue(NSDecimalNumber(decimal: number - digit), forKey: one.name)
    let order = NSArray(array: [record, less]).sortedArray(using: sort) as? [NSManagedObject]
    return order?.first === less ? one.expected : "after its lesser neighbour"
  }

  // MARK: All of them

  @Test("Every value is read as it was set, by every setter and getter", arguments: 0..<10)
  func everyWay(_ number: Int) throws {
    #expect(Self.waysIn.count == 10)
    let (wayIn, make) = Self.waysIn[number]
    let stand = try BirdStand(Self.extend)
    let context = stand.context()
    let record = try make(context)
    var wrong: [String] = []
    func look(_ moment: String, _ ways: [(String, WayOut)], _ record: NSManagedObject) throws {
      for (wayOut, read) in ways {
        for one in Self.cases {
          let found = try read(record, one)
          if found != one.expected {
            wrong.append("\(wayIn) → \(moment) \(wayOut): \(one.name) is \(found), not \(one.expected)")
          }
        }
      }
    }
    try look("new,", Self.waysOutOfMemory, record)
    try context.save()
    try look("saved,", Self.waysOutOfMemory + Self.waysOutOfStore, record)
    for ways in [Self.waysOutOfMemory, Self.waysOutOfStore] {
      let other = stand.context()
      try look("elsewhere,", ways, other.object(with: record.objectID))
      withExtendedLifetime(other) {}
    }
    withExtendedLifetime(context) {}
    #expect(wrong.isEmpty, "\(wrong.joined(separator: "\n"))")
  }

  @Test("An NSNull is nil in dictionaries, predicates and lists")
  func null() throws {
    let stand = try BirdStand(Self.extend)
    let context = stand.context()
    for way in ["setValuesForKeys", "batch insert", "batch update"] {
      let record: NSManagedObject
      let nulls = Dictionary(uniqueKeysWithValues: Self.cases.map { ($0.name, NSNull() as Any) })
      switch way {
      case "setValuesForKeys":
        record = Self.filled(context) { $0.setValue($1.given, forKey: $1.name) }
        record.setValuesForKeys(nulls)
        try context.save()
      case "batch insert":
        let request = NSBatchInsertRequest(entityName: "Record", objects: [nulls])
        request.resultType = .objectIDs
        record = try Self.only(context, (context.execute(request) as? NSBatchInsertResult)?.result)
      default: record = try Self.updated(context) { _ in NSNull() }
      }
      for one in Self.cases {
        #expect(record.value(forKey: one.name) == nil, "\(way): \(one.name)")
        for predicate in [
          NSPredicate(format: "%K == %@", argumentArray: [one.name, NSNull()]),
          NSPredicate(format: "%K IN %@", argumentArray: [one.name, [NSNull(), one.given]]),
          NSPredicate(format: "%K == nil", argumentArray: [one.name]),
        ] {
          #expect(predicate.evaluate(with: record), "\(way): \(predicate)")
          let request = NSFetchRequest<NSManagedObject>(entityName: "Record")
          request.predicate = predicate
          #expect(try context.fetch(request).contains(record), "\(way): \(predicate)")
        }
      }
      context.delete(record)
      try context.save()
    }
  }

  /// Records with an attribute for each case, the same with default values, and their owners.
  private static func extend(_ model: NSManagedObjectModel) {
    func entity(_ name: String, hasDefaults: Bool) -> NSEntityDescription {
      let entity = NSEntityDescription()
      entity.name = name
      entity.properties = cases.map { one in
        let attribute = NSAttributeDescription()
        attribute.name = one.name
        attribute.type = one.type
        if hasDefaults { attribute.defaultValue = one.given }
        return attribute
      }
      return entity
    }
    let (record, defaulted) = (entity("Record", hasDefaults: false), entity("Defaulted", hasDefaults: true))
    let (holder, held) = (NSEntityDescription(), NSEntityDescription())
    holder.name = "Holder"
    held.name = "Held"
    let (records, owner) = (NSRelationshipDescription(), NSRelationshipDescription())
    records.name = "records"
    records.destinationEntity = held
    records.inverseRelationship = owner
    owner.name = "holder"
    owner.destinationEntity = holder
    owner.maxCount = 1
    owner.inverseRelationship = records
    holder.properties = [records]
    held.properties = [owner]
    held.subentities = [record, defaulted]
    model.entities += [held, record, defaulted, holder]
  }
}
