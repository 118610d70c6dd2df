import CoreData
import Testing

@Suite("NS names")
struct NamesTests {
  @Test("A model made in code describes its entities")
  func modelMadeInCode() {
    let entity = NSEntityDescription()
    entity.name = "Person"
    let name = NSAttributeDescription()
    name.name = "name"
    entity.properties = [name]
    let model = NSManagedObjectModel()
    model.entities = [entity]
    #expect(model.entitiesByName["Person"]?.attributesByName.keys.sorted() == ["name"])
  }
}
