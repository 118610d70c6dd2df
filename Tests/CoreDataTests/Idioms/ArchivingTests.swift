import CoreData
import Testing

@Suite("Archives")
struct ArchivingTests {
  private func roundTrip<Value: NSObject & NSSecureCoding>(_ value: Value) throws -> Value? {
    let data = try NSKeyedArchiver.archivedData(withRootObject: value, requiringSecureCoding: true)
    return try NSKeyedUnarchiver.unarchivedObject(ofClass: Value.self, from: data)
  }

  @Test("The current query generation can be archived; a pinned one is refused when it is read")
  func generations() throws {
    let read = try roundTrip(NSQueryGenerationToken.current)
    #expect(read == .current && read?.hash == NSQueryGenerationToken.current.hash)
    let context = try BirdStand().stocked()
    try context.setQueryGenerationFrom(read)
    #expect(try context.count(for: Bird.fetchRequest()) == 5)
    let pinned = try #require(context.queryGenerationToken)
    #expect(pinned != .current && pinned == pinned)
    #expect(throws: CocoaError.self) { try roundTrip(pinned) }
  }

  @Test("Expressions that a store understands can be archived")
  func expressions() throws {
    let all: [NSExpression] = [
      NSExpression(forKeyPath: "site.name"), NSExpression(forConstantValue: "it's"),
      NSExpression(forConstantValue: Date(timeIntervalSinceReferenceDate: 0.1)),
      NSExpression(forConstantValue: NSDecimalNumber(string: "12345678901234567890.5")),
      NSExpression(forConstantValue: Data([0, 255])), NSExpression(forConstantValue: nil),
      NSExpression(forVariable: "x"), NSExpression.expressionForEvaluatedObject(),
      NSExpression(format: "sum:(birds.tally) + 3 * (flags & 1)"),
      NSExpression(
        forSubquery: NSExpression(forKeyPath: "birds"), usingIteratorVariable: "b",
        predicate: NSPredicate(format: "$b.tally > %@", Date(timeIntervalSinceReferenceDate: 7) as NSDate)),
      NSExpression(
        forConditional: NSPredicate(format: "name LIKE[cd] 'a*'"),
        trueExpression: NSExpression(forAggregate: [NSExpression(forConstantValue: 1)]),
        falseExpression: NSExpression(forKeyPath: "tally")),
    ]
    for expression in all {
      let read = try #require(try roundTrip(expression))
      read.allowEvaluation()
      #expect(read == expression && read !== expression && read.expressionType == expression.expressionType)
    }
  }

  @Test("What nothing could read again is not archived, and what is no expression is not read")
  func refusals() async throws {
    await #expect(processExitsWith: .failure) {
      let block = NSExpression(block: { _, _, _ in 1 }, arguments: nil)
      _ = try NSKeyedArchiver.archivedData(withRootObject: block, requiringSecureCoding: true)
    }
    await #expect(processExitsWith: .failure) {
      let left = NSExpression(forKeyPath: "a")
      let union = NSExpression(forUnionSet: left, with: left)
      _ = try NSKeyedArchiver.archivedData(withRootObject: union, requiringSecureCoding: true)
    }
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    archiver.encode("a b c" as NSString, forKey: "format")
    archiver.finishEncoding()
    let reader = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
    reader.decodingFailurePolicy = .setErrorAndReturn
    #expect(NSExpression(coder: reader) == nil)
  }
}
