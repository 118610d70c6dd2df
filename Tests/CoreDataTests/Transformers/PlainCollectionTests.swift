import CoreData
import Foundation
import Testing

@Suite("Collections in transformable attributes")
struct PlainCollectionTests {
  private let stand: BirdStand
  private let context: NSManagedObjectContext
  private let bird: Bird

  init() throws {
    stand = try BirdStand { model in
      for (name, transformer) in [("secure", "NSSecureUnarchiveFromData"), ("free", nil)]
        as [(String, String?)]
      {
        let attribute = NSAttributeDescription()
        attribute.name = name
        attribute.attributeType = .transformableAttributeType
        attribute.valueTransformerName = transformer
        model.entitiesByName["Bird"]?.properties.append(attribute)
      }
    }
    context = try stand.stocked()
    bird = try #require(try context.fetch(NSFetchRequest<Bird>(entityName: "Bird")).first)
  }

  /// Saves the value, and reads it in a context of its own.
  private func kept(_ value: Any, _ key: String) throws -> Any? {
    bird.setValue(value, forKey: key)
    try context.save()
    return try stand.context().existingObject(with: bird.objectID).value(forKey: key)
  }

  @Test("Rule 342: sets are kept, of Swift's and of Foundation's classes", arguments: ["secure", "free"])
  func sets(key: String) throws {
    #expect(try kept(Set(["a", "b"]), key) as? Set<String> == ["a", "b"])
    #expect(try kept(NSSet(array: ["x", 1]), key) as? NSSet == NSSet(array: ["x", 1]))
    #expect(try kept(NSMutableSet(array: [2, 3]), key) as? Set<Int> == [2, 3])
    #expect(try kept(Set<String>(), key) as? Set<String> == [])
    #expect(try kept([Set([1]), Set([2, 3])], key) as? [Set<Int>] == [[1], [2, 3]])
    #expect(try kept(["k": NSSet(array: [1])], key) as? [String: Set<Int>] == ["k": [1]])
    #expect(try kept(Set([["a"], ["b", "c"]]), key) as? Set<[String]> == [["a"], ["b", "c"]])
  }

  @Test("Rule 342: so are null in collections, and keys that are no texts", arguments: ["secure", "free"])
  func nullAndKeys(key: String) throws {
    let list = try #require(try kept(NSArray(array: [NSNull(), 1]), key) as? [Any])
    #expect(list.count == 2 && list[0] is NSNull && list[1] as? Int == 1)
    let named = try #require(
      try kept(NSMutableDictionary(dictionary: ["a": NSNull()]), key) as? [String: Any])
    #expect(named.count == 1 && named["a"] is NSNull)
    #expect(try kept([1: "x", 2: "y"], key) as? [Int: String] == [1: "x", 2: "y"])
    #expect(
      try kept(NSDictionary(dictionary: [1.5: [2: "z"]]), key) as? [Double: [Int: String]] == [1.5: [2: "z"]])
  }

  @Test("Rule 342: an equal set has equal bytes, whatever its order: setting it is no change")
  func equalBytes() throws {
    var grown = Set<Int>(minimumCapacity: 4_096)
    for number in (0..<20).reversed() { grown.insert(number) }
    _ = try kept(Set(0..<20), "secure")
    bird.setValue(grown, forKey: "secure")
    #expect(!bird.hasPersistentChangedValues)
    bird.setValue(Set(0..<19), forKey: "secure")
    #expect(bird.hasPersistentChangedValues)
  }

  @Test("Rule 342: what would lose something is refused when it is saved, and stays with the object")
  func refused() throws {
    for value in [
      NSCountedSet(array: [1, 1]), NSOrderedSet(array: [1]), NSIndexSet(index: 1),
      NSArray(array: [NSOrderedSet(array: [1])]),
    ] as [NSObject] {
      bird.setValue(value, forKey: "secure")
      #expect(throws: (any Error).self) { try context.save() }
      #expect(bird.value(forKey: "secure") as? NSObject === value)
      context.rollback()
    }
  }

  @Test("Rule 342: values that an earlier version has written are read")
  func earlierBytes() throws {
    let text =
      #"{"entries":{"value":{"dictionary":{"_0":{"a":{"array":{"_0":[{"value":{"_0":["integer","1"]}},{"value":{"_0":["nil",""]}}]}}}}}}}"#
    let read = NSSecureUnarchiveFromDataTransformer().transformedValue(Data(text.utf8))
    let list = try #require((read as? [String: Any])?["a"] as? [Any])
    #expect(list.count == 2 && list[0] as? Int == 1 && list[1] is NSNull)
  }

  @Test("The secure transformer names sets among the classes that it keeps")
  func classes() {
    #expect(NSSecureUnarchiveFromDataTransformer.allowedTopLevelClasses.contains { $0 == NSSet.self })
  }
}
