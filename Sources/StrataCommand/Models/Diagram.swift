import Foundation
import StrataCore

/// A model as a picture: boxes for entities, lines for relationships, arrows for inheritance. Readable on light and dark pages.
struct Diagram {
  private struct Box {
    let entity: EntityDescription
    let lines: [String]
    var x = 0.0
    var y = 0.0
    let width: Double
    let height: Double
    var middle: (x: Double, y: Double) { (x + width / 2, y + height / 2) }
  }

  private var boxes: [Box]
  private let places: [ObjectIdentifier: Int]
  private static let (lineHeight, headHeight, gap) = (17.0, 28.0, 90.0)

  init(_ entities: [EntityDescription]) {
    let ordered = Self.ordered(entities)
    boxes = ordered.map { entity in
      let lines = entity.declaredProperties.compactMap { property -> String? in
        guard let attribute = property as? AttributeDescription else { return nil }
        return "\(attribute.name): \(attribute.attributeType)\(attribute.isOptional ? "?" : "")"
      }
      let longest = ([entity.title + "  "] + lines).reduce(0) { max($0, $1.count) }
      return Box(
        entity: entity, lines: lines, width: max(130, Double(longest) * 7.3 + 24),
        height: Self.headHeight + Double(lines.count) * Self.lineHeight + (lines.isEmpty ? 0 : 10))
    }
    places = Dictionary(uniqueKeysWithValues: ordered.enumerated().map { (ObjectIdentifier($1), $0) })
    arrange()
  }

  /// Related entities side by side: each next one is the one with the most links to those before.
  private static func ordered(_ entities: [EntityDescription]) -> [EntityDescription] {
    var rest = entities
    var result: [EntityDescription] = []
    func links(_ entity: EntityDescription, _ others: [EntityDescription]) -> Int {
      others.count { other in
        entity.superentity === other || other.superentity === entity
          || entity.declaredProperties.contains {
            ($0 as? RelationshipDescription)?.destinationEntity === other
          }
          || other.declaredProperties.contains {
            ($0 as? RelationshipDescription)?.destinationEntity === entity
          }
      }
    }
    while !rest.isEmpty {
      let best = rest.indices.max { left, right in
        let scores = (links(rest[left], result), links(rest[right], result))
        if scores.0 != scores.1 { return scores.0 < scores.1 }
        let degrees = (links(rest[left], entities), links(rest[right], entities))
        return degrees.0 == degrees.1 ? left > right : degrees.0 < degrees.1
      }
      result.append(rest.remove(at: best ?? 0))
    }
    return result
  }

  /// Rows of about as many boxes as there are rows.
  private mutating func arrange() {
    let columns = max(1, Int(Double(boxes.count).squareRoot().rounded(.up)))
    var y = 40.0
    for start in stride(from: 0, to: boxes.count, by: columns) {
      var row = Array(start..<min(start + columns, boxes.count))
      // To and fro, so that the last of a row is near the first of the next.
      if start / columns % 2 == 1 { row.reverse() }
      var x = 40.0
      for place in row {
        (boxes[place].x, boxes[place].y) = (x, y)
        x += boxes[place].width + Self.gap
      }
      y += (row.map { boxes[$0].height }.max() ?? 0) + Self.gap
    }
  }

  var svg: String {
    let width = (boxes.map { $0.x + $0.width }.max() ?? 100) + 60
    let height = (boxes.map { $0.y + $0.height }.max() ?? 100) + 60
    var text = """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Int(width)) \(Int(height))" width="\(Int(width))" height="\(Int(height))" role="img" aria-label="The entities of a model and their relationships">
      <style>
      .page { fill: #ffffff } .box { fill: #f6f7f9; stroke: #8a94a3 } .head { fill: #dfe6f0 } text { font: 12px ui-monospace, Menlo, Consolas, monospace; fill: #1c2430 }
      .name { font-weight: 600; font-size: 13px } .abstract { font-style: italic } .link { fill: none; stroke: #3b6fb5 } .parent { fill: none; stroke: #7a7f87; stroke-dasharray: 5 4 }
      .label { font-size: 11px; fill: #3b6fb5; paint-order: stroke; stroke: #ffffff; stroke-width: 3px } .mark { fill: #3b6fb5 } .triangle { fill: #ffffff; stroke: #7a7f87 }
      @media (prefers-color-scheme: dark) { .page { fill: #14181f } .box { fill: #1d232d; stroke: #59657a } .head { fill: #2a3444 } text { fill: #e3e8ef } .link { stroke: #7fb0f0 } .label { fill: #7fb0f0; stroke: #14181f } .mark { fill: #7fb0f0 } .triangle { fill: #14181f } }
      </style>
      <defs>
      <marker id="one" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path class="mark" d="M0,1 L9,5 L0,9 z"/></marker>
      <marker id="many" viewBox="0 0 16 10" refX="15" refY="5" markerWidth="13" markerHeight="8" orient="auto-start-reverse"><path class="mark" d="M0,1 L8,5 L0,9 z M7,1 L15,5 L7,9 z"/></marker>
      <marker id="parent" viewBox="0 0 12 12" refX="11" refY="6" markerWidth="11" markerHeight="11" orient="auto"><path class="triangle" d="M1,1 L11,6 L1,11 z"/></marker>
      </defs>
      <rect class="page" width="100%" height="100%"/>

      """
    text += lines()
    for box in boxes { text += self.text(of: box) }
    return text + "</svg>\n"
  }

  private func text(of box: Box) -> String {
    let name = XcodeModel.escaped(box.entity.title)
    var text = """
      <g><rect class="box" x="\(box.x)" y="\(box.y)" width="\(box.width)" height="\(box.height)" rx="6"/>
      <path class="head" d="M\(box.x + 1),\(box.y + Self.headHeight) v-\(Self.headHeight - 7) q0,-6 6,-6 h\(box.width - 14) q6,0 6,6 v\(Self.headHeight - 7) z"/>
      <text class="name\(box.entity.isAbstract ? " abstract" : "")" x="\(box.x + 12)" y="\(box.y + 19)">\(name)</text>

      """
    for (place, line) in box.lines.enumerated() {
      let y = box.y + Self.headHeight + Double(place + 1) * Self.lineHeight
      text += "<text x=\"\(box.x + 12)\" y=\"\(y)\">\(XcodeModel.escaped(line))</text>\n"
    }
    return text + "</g>\n"
  }

  /// Each relationship once with its inverse, and a line to each superentity.
  private func lines() -> String {
    var text = ""
    var drawn: Set<ObjectIdentifier> = []
    var between: [Set<Int>: Int] = [:]
    for (place, box) in boxes.enumerated() {
      if let parent = box.entity.superentity, let other = places[ObjectIdentifier(parent)] {
        let (from, to) = (border(place, towards: boxes[other].middle), border(other, towards: box.middle))
        text +=
          "<path class=\"parent\" d=\"M\(from.x),\(from.y) L\(to.x),\(to.y)\" marker-end=\"url(#parent)\"/>\n"
      }
      for case let relationship as RelationshipDescription in box.entity.declaredProperties {
        guard drawn.insert(ObjectIdentifier(relationship)).inserted,
          let destination = relationship.destinationEntity, let other = places[ObjectIdentifier(destination)]
        else { continue }
        let inverse = relationship.inverseRelationship
        if let inverse { drawn.insert(ObjectIdentifier(inverse)) }
        let number = between[[place, other], default: 0]
        between[[place, other]] = number + 1
        text += link(place, other, relationship, inverse, number)
      }
    }
    return text
  }

  private func link(
    _ place: Int, _ other: Int, _ relationship: RelationshipDescription, _ inverse: RelationshipDescription?,
    _ number: Int
  ) -> String {
    let label =
      Self.label(relationship) + (inverse.map { $0 === relationship ? "" : " / " + Self.label($0) } ?? "")
    let end = "marker-end=\"url(#\(relationship.isToMany ? "many" : "one"))\""
    let start = inverse.map { " marker-start=\"url(#\($0.isToMany ? "many" : "one"))\"" } ?? ""
    let shift = Double((number + 1) / 2) * (number % 2 == 0 ? 26 : -26)
    if place == other {
      let box = boxes[place]
      let (x, y) = (box.x + box.width, box.y + 18 + Double(number) * 30)
      return """
        <path class="link" d="M\(x),\(y) c44,-10 44,36 0,24" \(end)\(start)/>
        <text class="label" x="\(x + 8)" y="\(y - 6)">\(XcodeModel.escaped(label))</text>

        """
    }
    var (from, to) = (
      border(place, towards: boxes[other].middle), border(other, towards: boxes[place].middle)
    )
    let isSteep = abs(from.y - to.y) > abs(from.x - to.x)
    if isSteep {
      from.x += shift
      to.x += shift
    } else {
      from.y += shift
      to.y += shift
    }
    let middle = ((from.x + to.x) / 2, (from.y + to.y) / 2 - 4)
    return """
      <path class="link" d="M\(from.x),\(from.y) L\(to.x),\(to.y)" \(end)\(start)/>
      <text class="label" x="\(middle.0)" y="\(middle.1)" text-anchor="middle">\(XcodeModel.escaped(label))</text>

      """
  }

  private static func label(_ relationship: RelationshipDescription) -> String {
    relationship.name + (relationship.isOrdered ? " (ordered)" : "")
  }

  /// Where a line from the middle of a box leaves it.
  private func border(_ place: Int, towards target: (x: Double, y: Double)) -> (x: Double, y: Double) {
    let box = boxes[place]
    let (dx, dy) = (target.x - box.middle.x, target.y - box.middle.y)
    if dx == 0 && dy == 0 { return box.middle }
    let scale = min(
      dx == 0 ? .infinity : box.width / 2 / abs(dx), dy == 0 ? .infinity : box.height / 2 / abs(dy))
    return ((box.middle.x + dx * scale).rounded(), (box.middle.y + dy * scale).rounded())
  }
}
