import CoreData
import Testing

@Suite("Arguments in C lists")
struct ListedArgumentTests {
  private func predicate(_ format: String, _ arguments: any CVarArg...) -> NSPredicate {
    withVaList(arguments) { NSPredicate(format: format, arguments: $0) }
  }

  private func fetch(_ format: String, _ arguments: any CVarArg..., in context: NSManagedObjectContext) throws
    -> [String]
  {
    try names(withVaList(arguments) { NSPredicate(format: format, arguments: $0) }, in: context)
  }

  @Test("A function passes its arguments on")
  func passedOn() throws {
    let context = try BirdStand().stocked()
    #expect(try fetch("%K == %@", "name", "wren", in: context) == ["wren"])
    #expect(try fetch("tally > %d AND weight < %f", 4, 1.0, in: context) == ["coot", "wren"])
    #expect(
      try fetch("seenAt == %@", Date(timeIntervalSinceReferenceDate: 180), in: context) == ["swan"])
    #expect(try fetch("name == 'it\\'s' OR name == \"100 %d\" OR tally == %ld", 12, in: context) == ["coot"])
    #expect(try fetch("tally > 0", in: context).count == 5)
  }

  @Test("Each kind of argument comes as what it is, in any number")
  func kinds() throws {
    let id = UUID()
    let url = try #require(URL(string: "https://example.org/a"))
    let object: [String: Any] = [
      "id": id, "url": url, "big": Int64.min + 1, "small": -5, "half": 0.5, "name": "Ä", "flags": UInt(7),
    ]
    #expect(predicate("id == %@", id).evaluate(with: object))
    #expect(!predicate("id == %@", UUID()).evaluate(with: object))
    #expect(predicate("url == %@", url).evaluate(with: object))
    #expect(
      predicate("big == %lld AND small == %d AND small == %i", Int64.min + 1, -5, Int32(-5)).evaluate(
        with: object))
    #expect(
      predicate("half == %lf AND flags == %lu AND flags == %x", 0.5, UInt(7), UInt32(7)).evaluate(
        with: object))
    #expect(predicate("name == %@", NSString(string: "Ä")).evaluate(with: object))
    "Ä".withCString { text in
      #expect(predicate("name == %s", OpaquePointer(text)).evaluate(with: object))
    }
    // More than registers hold, of both kinds.
    let whole = withVaList([1, 2, 3, 4, 5, 6, 7, 8]) {
      NSExpression(format: "%d + %d + %d + %d + %d + %d + %d + %d", arguments: $0)
    }
    #expect(whole.expressionValue(with: nil, context: nil) as? Int == 36)
    let broken = withVaList([
      0.5, 1, 2.5, 2, 3.5, 3, 4.5, 4, 5.5, 5, 6.5, 6, 7.5, 7, 8.5, 8, 9.5, 9, 10.5, 10,
    ]) {
      NSExpression(
        format:
          "%f + %d + %f + %d + %f + %d + %f + %d + %f + %d + %f + %d + %f + %d + %f + %d + %f + %d + %f + %d",
        arguments: $0)
    }
    #expect(broken.expressionValue(with: nil, context: nil) as? Double == 114)
    let sum = withVaList([2, 3]) { NSExpression(format: "%d + %d", arguments: $0) }
    #expect(sum.expressionValue(with: nil, context: nil) as? Int == 5)
  }

  /// Wrappers as applications have them.
  private func found(_ format: String, _ arguments: any CVarArg..., in context: NSManagedObjectContext) throws
    -> [String]
  {
    let listed = try names(withVaList(arguments) { NSPredicate(format: format, arguments: $0) }, in: context)
    let made = try names(NSPredicate(format: format, arguments: getVaList(arguments)), in: context)
    let given = try names(NSPredicate(format: format, argumentArray: arguments), in: context)
    #expect(listed == made && listed == given)
    return listed
  }

  @Test("Managed objects, their IDs, entities, expressions and Foundation's objects are arguments")
  func objects() throws {
    let context = try BirdStand().stocked()
    let birds = try context.fetch(Bird.fetchRequest())
    let swan = try #require(birds.first { $0.name == "swan" })
    let lake = try #require(swan.site)
    #expect(try found("site == %@", lake, in: context) == ["coot", "swan"])
    #expect(try found("site == %@ AND tally > %d", lake.objectID, 5, in: context) == ["coot"])
    #expect(
      try found("site == %@", NSManagedObjectIDReference(lake.objectID), in: context)
        == ["coot", "swan"])
    #expect(try found("SELF IN %@", NSSet(array: [swan]), in: context) == ["swan"])
    #expect(try found("SELF IN %@", NSOrderedSet(array: [swan]), in: context) == ["swan"])
    #expect(try found("name IN %@", NSArray(array: ["wren", "gull"]), in: context) == ["gull", "wren"])
    #expect(try found("%K == %@", "tally", NSNumber(value: 12), in: context) == ["coot"])
    #expect(try found("tally == %@", NSDecimalNumber(string: "12"), in: context) == ["coot"])
    #expect(
      try found("seenAt == %@", NSDate(timeIntervalSinceReferenceDate: 180), in: context) == ["swan"])
    #expect(try found("entity == %@ AND tally < %ld", swan.entity, 3, in: context) == ["robin"])
    #expect(try found("tally > %@", NSExpression(format: "2 * 4"), in: context) == ["coot"])
    #expect(try found("site == %@", NSNull(), in: context) == ["gull"])
    #expect(
      NSPredicate(format: "SELF == %@", arguments: getVaList([NSString(string: "a")])).evaluate(with: "a"))
  }

  @Test("A list holds its arguments no longer than it is there, and may be read twice")
  func lifetime() {
    final class Token: NSObject {}
    weak var token: Token?
    do {
      let made = Token()
      token = made
      withVaList([NSArray(object: made)]) { _ = NSPredicate(format: "SELF IN %@", arguments: $0) }
    }
    #expect(token == nil)
    let list = getVaList([1, 2.5, NSNumber(value: 3), 4, 5, 6, 7, 8, 9.5])
    for _ in 0..<2 {
      let sum = NSExpression(format: "%d + %f + %@ + %d + %d + %d + %d + %d + %f", arguments: list)
      #expect(sum.expressionValue(with: nil, context: nil) as? Double == 46)
    }
    #expect(String(format: "%@ %@", NSNumber(value: 3), NSNull()) == "3 <null>")
  }

  @Test("What cannot be taken off a list stops the process")
  func refused() async {
    await #expect(processExitsWith: .failure) {
      _ = withVaList([1, 2]) { NSPredicate(format: "tally == %2$d", arguments: $0) }
    }
  }
}
