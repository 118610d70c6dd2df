import CoreData
import Testing

@Suite("What transformers get from batch updates")
struct BatchTransformerTests {
  /// Notes what it is given, and keeps its description.
  final class Noting: ValueTransformer {
    private let given = NSMutableArray()
    override class func transformedValueClass() -> AnyClass { NSData.self }
    override class func allowsReverseTransformation() -> Bool { true }
    override func transformedValue(_ value: Any?) -> Any? {
      guard let value else { return nil }
      given.add(Box(value))
      return Data("\(value)".utf8)
    }
    override func reverseTransformedValue(_ value: Any?) -> Any? {
      (value as? Data).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Keeps the value what it is, which an array of Foundation's does not.
    final class Box {
      let value: Any
      init(_ value: Any) { self.value = value }
    }
    var latest: Any? { (given.lastObject as? Box)?.value }
  }

  /// Keeps texts, and nothing else, as code does that encrypts them.
  final class Cipher: ValueTransformer {
    override class func allowsReverseTransformation() -> Bool { true }
    override func transformedValue(_ value: Any?) -> Any? {
      (value as? String).map { Data($0.utf8.map { $0 ^ 0x55 }) }
    }
    override func reverseTransformedValue(_ value: Any?) -> Any? {
      (value as? Data).map { String(decoding: $0.map { $0 ^ 0x55 }, as: UTF8.self) }
    }
  }

  final class Lists: NSSecureUnarchiveFromDataTransformer {
    override class var allowedTopLevelClasses: [AnyClass] { [NSArray.self, NSString.self, NSNumber.self] }
  }

  private let stand: BirdStand
  private let context: NSManagedObjectContext
  private let noting = Noting()

  init() throws {
    let names = ["note", "secret", "list"].map { NSValueTransformerName("\($0)-\(UUID().uuidString)") }
    ValueTransformer.setValueTransformer(noting, forName: names[0])
    ValueTransformer.setValueTransformer(Cipher(), forName: names[1])
    ValueTransformer.setValueTransformer(Lists(), forName: names[2])
    stand = try BirdStand { model in
      func attribute(_ name: String, _ transformer: NSValueTransformerName) -> NSAttributeDescription {
        let attribute = NSAttributeDescription()
        attribute.name = name
        attribute.attributeType = .transformableAttributeType
        attribute.valueTransformerName = transformer.rawValue
        return attribute
      }
      let ring = NSCompositeAttributeDescription()
      ring.name = "ring"
      ring.elements = [attribute("owner", names[1])]
      model.entitiesByName["Bird"]?.properties += [
        attribute("note", names[0]), attribute("secret", names[1]), attribute("list", names[2]), ring,
      ]
    }
    context = try stand.stocked()
  }

  private func update(_ key: String, _ value: Any) throws {
    let request = NSBatchUpdateRequest(entityName: "Bird")
    request.propertiesToUpdate = [key: value]
    try context.execute(request)
  }

  private func saved(_ key: String) throws -> Any? {
    let bird = try #require(try stand.context().fetch(NSFetchRequest<Bird>(entityName: "Bird")).first)
    return bird.value(forKeyPath: key)
  }

  @Test("Rule 342: a text of Swift's and Foundation's, as itself and as a constant, is transformed")
  func texts() throws {
    let texts: [Any] = ["s", NSString("t"), NSExpression(forConstantValue: "u")]
    for text in texts { try update("secret", text) }
    #expect(try saved("secret") as? String == "u")
    try update("ring.owner", "Ann")
    #expect(try saved("ring.owner") as? String == "Ann")
    try update("ring", ["owner": "Bo"])
    #expect(try saved("ring.owner") as? String == "Bo")
    try update("secret", NSNull())
    #expect(try saved("secret") == nil)
    let error = #expect(throws: (any Error).self) { try update("secret", 5) }
    #expect(error?.localizedDescription.contains("AttributeValue") == false)
  }

  @Test("Every kind of value is what setValue hands over")
  func kinds() throws {
    let bird = try #require(try context.fetch(NSFetchRequest<Bird>(entityName: "Bird")).first)
    let values: [Any] = [
      "s", NSString("s"), 3, NSNumber(value: 3), true, 1.5, Float(2), Decimal(4), Date(), UUID(), Data([1]),
      URL(fileURLWithPath: "/a"), NSDate(), ["a", "b"], ["a": 1],
    ]
    for value in values {
      bird.setValue(value, forKey: "note")
      let set = try #require(noting.latest)
      try update("note", value)
      let updated = try #require(noting.latest)
      #expect(type(of: updated) == type(of: set) && "\(updated)" == "\(value)")
    }
  }

  @Test("Rule 343: a secure transformer keeps texts and numbers that it allows")
  func secure() throws {
    try update("list", [1, 2])
    #expect(try saved("list") as? [Int] == [1, 2])
    try update("list", "text")
    #expect(try saved("list") as? String == "text")
    try update("list", 5)
    #expect(try saved("list") as? Int == 5)
    #expect(throws: (any Error).self) { try update("list", Date()) }
  }
}
