import CoreData
import Testing

@Suite("What batch updates take as values")
struct BatchValueTests {
  private let stand: BirdStand
  private let context: NSManagedObjectContext

  init() throws {
    stand = try BirdStand { model in
      let calls = NSAttributeDescription()
      calls.name = "calls"
      calls.attributeType = .transformableAttributeType
      let size = NSCompositeAttributeDescription()
      size.name = "size"
      let length = NSAttributeDescription()
      length.name = "length"
      length.attributeType = .doubleAttributeType
      size.elements = [length]
      model.entitiesByName["Bird"]?.properties += [calls, size]
    }
    context = try stand.stocked()
  }

  private func update(_ key: String, _ value: Any) throws {
    let request = NSBatchUpdateRequest(entityName: "Bird")
    request.propertiesToUpdate = [key: value]
    request.resultType = .updatedObjectsCountResultType
    let result = try context.execute(request) as? NSBatchUpdateResult
    #expect(result?.result as? Int == 5)
  }

  private func saved(_ key: String) throws -> Any? {
    let bird = try #require(try stand.context().fetch(NSFetchRequest<Bird>(entityName: "Bird")).first)
    return bird.value(forKey: key)
  }

  @Test("Arrays, dictionaries and sets, of Swift's and Foundation's, for a transformable attribute")
  func transformable() throws {
    try update("calls", ["chirp"])
    #expect(try saved("calls") as? [String] == ["chirp"])
    try update("calls", NSArray(array: ["caw"]))
    #expect(try saved("calls") as? [String] == ["caw"])
    try update("calls", ["dawn": 2])
    #expect(try saved("calls") as? [String: Int] == ["dawn": 2])
    try update("calls", Set(["hoot"]))
    #expect(try saved("calls") as? Set<String> == ["hoot"])
    try update("calls", NSExpression(forConstantValue: NSArray(array: ["tweet"])))
    #expect(try saved("calls") as? [String] == ["tweet"])
  }

  @Test("A dictionary for a composite attribute; a list for a number is refused")
  func others() throws {
    try update("size", ["length": 1.5])
    #expect((try saved("size") as? [String: Any])?["length"] as? Double == 1.5)
    let request = NSBatchUpdateRequest(entityName: "Bird")
    request.propertiesToUpdate = ["tally": [1]]
    #expect(throws: (any Error).self) { try context.execute(request) }
  }
}
