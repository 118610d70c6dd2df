import CoreData
import Testing

@Suite("ValueTransformer")
struct ValueTransformerTests {
  /// A colour that is kept as three bytes.
  final class Colour: NSObject {
    let bytes: [UInt8]
    init(_ bytes: [UInt8]) { self.bytes = bytes }
    override func isEqual(_ object: Any?) -> Bool { (object as? Colour)?.bytes == bytes }
    override var hash: Int { bytes.hashValue }
  }

  final class ColourTransformer: ValueTransformer {
    override class func transformedValueClass() -> AnyClass { NSData.self }
    override class func allowsReverseTransformation() -> Bool { true }
    override func transformedValue(_ value: Any?) -> Any? { (value as? Colour).map { Data($0.bytes) } }
    override func reverseTransformedValue(_ value: Any?) -> Any? {
      (value as? Data).map { Colour(Array($0)) }
    }
  }

  @Test("Rule 342: a registered transformer serves the attributes that name it")
  func attributes() throws {
    let name = NSValueTransformerName("ColourTransformer-\(UUID().uuidString)")
    ValueTransformer.setValueTransformer(ColourTransformer(), forName: name)
    #expect(ValueTransformer.valueTransformerNames().contains(name))
    #expect(ValueTransformer(forName: name) is ColourTransformer)
    let stand = try BirdStand { model in
      let plumage = NSAttributeDescription()
      plumage.name = "plumage"
      plumage.attributeType = .transformableAttributeType
      plumage.valueTransformerName = name.rawValue
      model.entitiesByName["Bird"]?.properties.append(plumage)
    }
    let context = try stand.stocked()
    let bird = try #require(try context.fetch(NSFetchRequest<Bird>(entityName: "Bird")).first)
    bird.setValue(Colour([1, 2, 3]), forKey: "plumage")
    try context.save()
    let other = stand.context()
    let again = try other.existingObject(with: bird.objectID)
    #expect(again.value(forKey: "plumage") as? Colour == Colour([1, 2, 3]))
    ValueTransformer.setValueTransformer(nil, forName: name)
    #expect(ValueTransformer(forName: name) == nil)
  }

  @Test("An attribute that holds an array is edited through its mutable array")
  func arrays() throws {
    let stand = try BirdStand { model in
      let calls = NSAttributeDescription()
      calls.name = "calls"
      calls.attributeType = .transformableAttributeType
      calls.valueTransformerName = NSValueTransformerName.secureUnarchiveFromDataTransformerName.rawValue
      model.entitiesByName["Bird"]?.properties.append(calls)
    }
    let context = try stand.stocked()
    let bird = try #require(try context.fetch(NSFetchRequest<Bird>(entityName: "Bird")).first)
    let calls = bird.mutableArrayValue(forKey: "calls")
    #expect(calls.count == 0)
    calls.add("chirp")
    calls.insert("tweet", at: 0)
    calls.add("caw")
    calls.replaceObject(at: 1, with: "hoot")
    calls.removeLastObject()
    #expect(bird.hasChanges && bird.value(forKey: "calls") as? [String] == ["tweet", "hoot"])
    try context.save()
    let again = try stand.context().existingObject(with: bird.objectID)
    let kept = again.mutableArrayValue(forKeyPath: "calls")
    #expect(kept.count == 2 && kept.contains("hoot") && kept[0] as? String == "tweet")
    // What Foundation's mutable array leaves to its subclasses.
    func now() -> [String]? { again.value(forKey: "calls") as? [String] }
    kept.add("caw")
    kept.sort(using: [NSSortDescriptor(key: "self", ascending: true)])
    #expect(now() == ["caw", "hoot", "tweet"])
    kept.exchangeObject(at: 0, withObjectAt: 2)
    #expect(now() == ["tweet", "hoot", "caw"])
    kept.sort(comparator: { "\($0)".compare("\($1)") })
    #expect(now() == ["caw", "hoot", "tweet"])
    kept.replaceObjects(in: NSRange(location: 0, length: 2), withObjectsFrom: ["chirp"])
    #expect(now() == ["chirp", "tweet"])
    kept.setArray(["hoot"])
    #expect(now() == ["hoot"])
    kept.removeAllObjects()
    #expect((again.value(forKey: "calls") as? [Any])?.isEmpty == true && kept.count == 0)
  }

  @Test("The ready-made transformers")
  func readyMade() throws {
    #expect(ValueTransformer(forName: .isNilTransformerName)?.transformedValue(nil) as? Bool == true)
    #expect(ValueTransformer(forName: .isNotNilTransformerName)?.transformedValue(3) as? Bool == true)
    #expect(
      ValueTransformer(forName: .negateBooleanTransformerName)?.transformedValue(true) as? Bool == false)
    #expect(
      ValueTransformer(forName: .negateBooleanTransformerName)?.reverseTransformedValue(false) as? Bool
        == true)
    let secure = try #require(ValueTransformer(forName: .secureUnarchiveFromDataTransformerName))
    #expect(secure is NSSecureUnarchiveFromDataTransformer)
    let data = secure.reverseTransformedValue(["a": [1, 2]])
    #expect(data is Data)
    #expect((secure.transformedValue(data) as? [String: Any])?["a"] as? [Int] == [1, 2])
    #expect(type(of: secure).allowsReverseTransformation())
    #expect(ValueTransformer(forName: .unarchiveFromDataTransformerName) == nil)
    #expect(ValueTransformer(forName: .keyedUnarchiveFromDataTransformerName) == nil)
    #expect(ValueTransformer.allowsReverseTransformation())
    let transformed: AnyClass = ValueTransformer.transformedValueClass()
    #expect(ObjectIdentifier(transformed) == ObjectIdentifier(NSData.self))
    #expect(
      NSSecureUnarchiveFromDataTransformer.allowedTopLevelClasses.map(ObjectIdentifier.init).contains(
        ObjectIdentifier(NSString.self)))
  }

  @Test("Rule 343: a secure transformer keeps the classes it allows and no other")
  func allowedClasses() throws {
    // Foundation has no name for it.
    final class Nameless: NSObject {}
    final class Dates: NSSecureUnarchiveFromDataTransformer {
      override class var allowedTopLevelClasses: [AnyClass] { [Nameless.self, NSDate.self] }
    }
    let transformer = Dates()
    let date = NSDate(timeIntervalSinceReferenceDate: 5)
    let data = try #require(transformer.reverseTransformedValue(date) as? Data)
    #expect(transformer.transformedValue(data) as? Date == date as Date)
    #expect(transformer.reverseTransformedValue(NSUUID()) == nil)
    final class Identifiers: NSSecureUnarchiveFromDataTransformer {
      override class var allowedTopLevelClasses: [AnyClass] { [NSUUID.self] }
    }
    let foreign = try #require(Identifiers().reverseTransformedValue(NSUUID()))
    #expect(transformer.transformedValue(foreign) == nil)
    #expect(transformer.transformedValue(Data([1, 2, 3])) == nil)
  }

  @Test(
    "Attributes use a secure transformer's subclass in Core Data's direction, by name and as it overrides")
  func secureSubclasses() throws {
    let name = NSValueTransformerName("StampTransformer-\(UUID().uuidString)")
    ValueTransformer.setValueTransformer(StampTransformer(), forName: name)
    let stand = try BirdStand { model in
      let stamp = NSAttributeDescription()
      stamp.name = "stamp"
      stamp.attributeType = .transformableAttributeType
      stamp.valueTransformerName = name.rawValue
      model.entitiesByName["Bird"]?.properties.append(stamp)
    }
    let context = stand.context()
    let bird = BirdStand.bird("wren", 1, 1, nil, context)
    bird.setValue(Stamp(5), forKey: "stamp")
    #expect((bird.value(forKey: "stamp") as? Stamp)?.number == 5)
    try context.save()
    let again = try stand.context().existingObject(with: bird.objectID)
    #expect((again.value(forKey: "stamp") as? Stamp)?.number == 5)
    let request = NSFetchRequest<NSDictionary>(entityName: "Bird")
    request.resultType = .dictionaryResultType
    request.propertiesToFetch = ["stamp"]
    #expect((try context.fetch(request).first?["stamp"] as? Stamp)?.number == 5)
    bird.setValue("no stamp", forKey: "name")
    ValueTransformer.setValueTransformer(nil, forName: name)
  }

  @Test("Bytes that were written when the direction was the other one are read")
  func oldBytes() throws {
    // As attributes have always kept them: a property list with the class's name and the archive.
    struct Envelope: Codable {
      let className: String
      let archive: Data
    }
    let archive = try NSKeyedArchiver.archivedData(withRootObject: Stamp(3), requiringSecureCoding: true)
    let bytes = try PropertyListEncoder().encode(
      Envelope(className: NSStringFromClass(Stamp.self), archive: archive))
    #expect((StampTransformer().transformedValue(bytes) as? Stamp)?.number == 3)
  }
}

// At the top: Foundation archives no classes inside of others.

final class Stamp: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  let number: Int
  init(_ number: Int) { self.number = number }
  init?(coder: NSCoder) { number = coder.decodeInteger(forKey: "number") }
  func encode(with coder: NSCoder) { coder.encode(number, forKey: "number") }
}

/// As applications write it: data becomes an object forwards, an object data backwards.
final class StampTransformer: NSSecureUnarchiveFromDataTransformer {
  override class var allowedTopLevelClasses: [AnyClass] { [Stamp.self] }
  override class func transformedValueClass() -> AnyClass { Stamp.self }
  override func transformedValue(_ value: Any?) -> Any? {
    guard let data = value as? Data else {
      Issue.record("transformedValue(_:) was given \(value ?? "nil"), no data")
      return nil
    }
    return super.transformedValue(data)
  }
  override func reverseTransformedValue(_ value: Any?) -> Any? {
    guard let stamp = value as? Stamp else {
      Issue.record("reverseTransformedValue(_:) was given \(value ?? "nil"), no stamp")
      return nil
    }
    return super.reverseTransformedValue(stamp)
  }
}
